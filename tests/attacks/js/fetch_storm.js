export async function transformEvent(event) {
  const all = [];
  for (let i = 0; i < 100000; i++) { try { all.push(fetchV2('http://127.0.0.1:47831/' + i).catch(() => 0)) } catch { break } }
  await Promise.all(all);
  for (;;) await fetchV2('http://127.0.0.1:47831/again').catch(() => 0);
}
