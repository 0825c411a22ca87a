// Runs for every event, before any destination's own mapping.

export function transformEvent(event) {
  const traits = event.context?.traits ?? {};
  if (traits.email) {
    traits.email = traits.email.trim().toLowerCase();
    if (traits.email.endsWith("@lantern-loom.example")) return null; // our own people, trying things out
  }
  return event;
}
