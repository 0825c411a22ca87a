// Runs for every event, before any destination's own mapping.

const CENTS = "2.9.0"; // this version of the app sends amounts in cents

export function transformEvent(event) {
  const traits = event.context?.traits ?? {};
  if (traits.email) {
    traits.email = traits.email.trim().toLowerCase();
    if (traits.email.endsWith("@lantern-loom.example")) return null; // our own people, trying things out
  }
  const found = event.properties;
  if (event.channel === "mobile" && found) {
    found.currency ??= "EUR"; // the app sells in euros, and 2.8 forgot to say so
    if (event.context.app.version === CENTS) inEuros(found);
  }
  return event;
}

function inEuros(properties) {
  for (const amounts of [properties, ...(properties.products ?? [])]) {
    for (const key of ["revenue", "price"]) {
      if (typeof amounts[key] === "number") amounts[key] /= 100;
    }
  }
}
