// Plays Claude Code: appends messages to an inbox under proper-lockfile's lock.
// usage: node append.cjs INBOX COUNT TAG rename|in-place [KEEP]
// With KEEP the oldest entries beyond that many are dropped, so that the inbox does not grow.
const { randomUUID } = require('node:crypto');
const { append } = require('./inbox.cjs');

const [inbox, count, tag, how, keep = Infinity] = process.argv.slice(2);

const entry = (number) => ({
  from: 'team-lead',
  text: `${tag}-${number}`,
  summary: 'a test',
  timestamp: new Date().toISOString(),
  msgV: 1,
  msg_id: randomUUID(),
  type: 'message',
  read: false,
});

async function main() {
  let failed = 0;
  for (let number = 0; number < Number(count); number++) {
    if (!(await append(inbox, how, () => entry(number), keep))) failed++;
  }
  process.stdout.write(JSON.stringify({ tag, failed }));
}

main();
