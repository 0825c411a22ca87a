// The reader's theme: as the system, light or dark. Runs before the page is painted, so no other one flashes up.
{
  const KEY = "svctoolkit-theme", SYSTEM = "(prefers-color-scheme: dark)";

  function read() {
    try {
      return localStorage.getItem(KEY) ?? "";
    } catch {
      return "";  // storage is blocked: the system's theme
    }
  }

  function keep(theme) {
    try {
      if (theme) localStorage.setItem(KEY, theme);
      else localStorage.removeItem(KEY);
    } catch { /* the choice is for this page only */ }
  }

  function apply(theme) {
    document.documentElement.style.colorScheme = theme;
    // Pictures with a dark variant.
    for (const source of document.querySelectorAll("source[data-theme], source[media*=prefers-color-scheme]")) {
      source.dataset.theme = "";
      source.media = { dark: "all", light: "not all" }[theme] ?? SYSTEM;
    }
  }

  apply(read());
  document.addEventListener("DOMContentLoaded", () => {
    const choice = document.getElementById("theme");
    const show = () => { choice.value = read(); apply(choice.value); };
    choice.closest("label").hidden = false;  // without scripts, there is no choice
    choice.addEventListener("change", () => { keep(choice.value); apply(choice.value); });
    addEventListener("storage", show);  // another tab
    addEventListener("pageshow", show);  // back to a page that the browser has kept
    show();
  });
}
