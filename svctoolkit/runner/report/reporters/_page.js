const hidden = new Set(), search = document.querySelector('input');
function show() {
  const text = search.value.toLowerCase();
  for (const suite of document.querySelectorAll('.suite')) {
    for (const one of suite.querySelectorAll('.scenario'))
      one.hidden = hidden.has(one.dataset.status) || (text && !one.textContent.toLowerCase().includes(text));
    suite.hidden = !suite.querySelector('.scenario:not([hidden])');
  }
}
search.addEventListener('input', show);
for (const button of document.querySelectorAll('button[data-status]'))
  button.addEventListener('click', () => {
    const status = button.dataset.status, off = !hidden.has(status);
    hidden[off ? 'add' : 'delete'](status);
    button.setAttribute('aria-pressed', String(!off));
    show();
  });
for (const scenario of document.querySelectorAll('.scenario')) { // tree tools are added when a scenario is opened
  if (scenario.open) svcTreeTools(scenario);
  else scenario.addEventListener('toggle', () => svcTreeTools(scenario), { once: true });
}
