// Plays Claude Code: appends messages to an inbox under proper-lockfile's lock.
// usage: node append.cjs INBOX COUNT TAG rename|in-place [KEEP]
// With KEEP the oldest entries beyond that many are dropped, so that the inbox does not grow.
// The patience is Claude Code's, about 0.7 s. What could not be sent is counted, not sent again.
const fs = require('node:fs');
const { randomUUID } = require('node:crypto');
const lockfile = require('proper-lockfile');

const [inbox, count, tag, how, keep = Infinity] = process.argv.slice(2);
const patience = { retries: 10, minTimeout: 5, maxTimeout: 100 };

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

async function main() {
  if (!fs.existsSync(inbox)) fs.writeFileSync(inbox, '[]');
  let failed = 0;
  for (let number = 0; number < Number(count); number++) {
    let release;
    try {
      release = await lockfile.lock(inbox, { lockfilePath: `${inbox}.lock`, retries: patience });
    } catch (error) {
      if (error.code !== 'ELOCKED') throw error;
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
