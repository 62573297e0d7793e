// Plays Claude Code: appends messages to an inbox under proper-lockfile's lock.
// usage: node append.cjs INBOX COUNT TAG rename|in-place [KEEP]
// With KEEP the oldest entries beyond that many are dropped, so that the inbox does not grow.
//
// Its patience is Claude Code's, about 0.7 s. A message whose lock was in one and the same hand all
// that time is not sent, and counted as failed. If the lock went from hand to hand and was never
// free just when we looked, it is tried again: four of these do that to each other with no one else
// around, about once in 2,000 messages.
const fs = require('node:fs');
const { randomUUID } = require('node:crypto');
const lockfile = require('proper-lockfile');

const [inbox, count, tag, how, keep = Infinity] = process.argv.slice(2);
const pauses = [5, 10, 20, 40, 80, 100, 100, 100, 100, 100];
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function replace(text) {
  if (how === 'in-place') return fs.writeFileSync(inbox, text);
  const temporary = `${inbox}.${randomUUID()}.tmp`;
  fs.writeFileSync(temporary, text);
  fs.renameSync(temporary, inbox);
}

function append(number) {
  const entries = JSON.parse(fs.readFileSync(inbox, 'utf8'));
  entries.push({
    from: 'team-lead',
    text: `${tag}-${number}`,
    summary: 'a test',
    timestamp: new Date().toISOString(),
    msgV: 1,
    msg_id: randomUUID(),
    type: 'message',
    read: false,
  });
  if (entries.length > keep) entries.splice(0, entries.length - keep);
  replace(JSON.stringify(entries, null, 2));
}

// When the lock that is held now was taken; 0 if nobody holds it.
function holder() {
  try {
    return fs.statSync(`${inbox}.lock`, { bigint: true }).birthtimeNs;
  } catch {
    return 0n;
  }
}

// The lock's release, or undefined if one holder had it for as long as we waited.
async function lock() {
  for (;;) {
    const holders = new Set();
    for (const pause of [0, ...pauses]) {
      await sleep(pause);
      try {
        return await lockfile.lock(inbox, { lockfilePath: `${inbox}.lock` });
      } catch (error) {
        if (error.code !== 'ELOCKED') throw error;
        holders.add(holder());
      }
    }
    if (holders.size === 1 && !holders.has(0n)) return undefined;
  }
}

async function main() {
  if (!fs.existsSync(inbox)) fs.writeFileSync(inbox, '[]');
  let failed = 0;
  for (let number = 0; number < Number(count); number++) {
    const release = await lock();
    if (!release) {
      failed++;
      continue;
    }
    try {
      append(number);
    } finally {
      await release();
    }
  }
  process.stdout.write(JSON.stringify({ tag, failed }));
}

main();
