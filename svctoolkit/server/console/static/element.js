// One element of the page with its children.
export function element(name, text, members = {}) {
  const made = Object.assign(document.createElement(name), members);
  made.append(...(Array.isArray(text) ? text : [text]));
  return made;
}
