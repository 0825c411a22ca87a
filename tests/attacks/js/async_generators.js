async function* endless(event) { for (let n = 0; ; n++) { await null; yield n; globalThis.secret = event.userId } }
let running = null;
export async function transformEvent(event) {
  if (globalThis.secret !== undefined && globalThis.secret !== event.userId) return { ...event, breach: 'saw ' + globalThis.secret };
  running = endless(event);
  for await (const n of running) if (n > 100) break;
  const abandoned = endless(event);
  await abandoned.next();
  abandoned.next().then(() => abandoned.return(new Promise(() => {})));
  return event;
}
