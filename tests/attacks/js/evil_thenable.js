export function transformEvent(event) {
  return { then(resolve, reject) { resolve(event); resolve({ breach: 'twice' }); reject(new Error('thrice')); for (;;); } };
}
