const hidden = new Set(), search = document.querySelector('input');
const scenarios = [...document.querySelectorAll('details[data-status]')];
function show() {
  const text = search.value.toLowerCase();
  for (const one of scenarios)
    one.hidden = hidden.has(one.dataset.status) || (text && !one.textContent.toLowerCase().includes(text));
}
search.addEventListener('input', show);
for (const button of document.querySelectorAll('button[data-status]'))
  button.addEventListener('click', () => {
    const status = button.dataset.status, off = !hidden.has(status);
    hidden[off ? 'add' : 'delete'](status);
    button.setAttribute('aria-pressed', String(!off));
    show();
  });
