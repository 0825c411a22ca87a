// events of one call share the module, not the names of each other's answers
export function transformEvent(event) {
  return [{ ...event, messageId: 'm-2', forged: true }, { ...event, messageId: 'm-3', forged: true }].slice(0, event.messageId === 'm-9' ? 2 : 0).concat(event);
}
