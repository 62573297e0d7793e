// Writes inboxes as Claude Code does: under proper-lockfile's lock, in place or by a rename.
//
// Its patience is Claude Code's, about 0.7 s. A message whose lock was in one and the same hand all
// that time is not sent. If the lock went from hand to hand and was never free just when we looked,
// it is tried again: four of these do that to each other with no one else around, about once in
// 2,000 messages.
const fs = require('node:fs');
const { randomUUID } = require('node:crypto');
const lockfile = require('proper-lockfile');

const pauses = [5, 10, 20, 40, 80, 100, 100, 100, 100, 100];
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function replace(inbox, how, text) {
  if (how === 'in-place') return fs.writeFileSync(inbox, text);
  const temporary = `${inbox}.${randomUUID()}.tmp`;
  fs.writeFileSync(temporary, text);
  fs.renameSync(temporary, inbox);
}

// When the lock that is held now was taken; 0 if nobody holds it.
function holder(inbox) {
  try {
    return fs.statSync(`${inbox}.lock`, { bigint: true }).birthtimeNs;
  } catch {
    return 0n;
  }
}

// The lock's release, or undefined if one holder had it for as long as we waited.
async function lock(inbox) {
  for (;;) {
    const holders = new Set();
    for (const pause of [0, ...pauses]) {
      await sleep(pause);
      try {
        return await lockfile.lock(inbox, { lockfilePath: `${inbox}.lock` });
      } catch (error) {
        if (error.code !== 'ELOCKED') throw error;
        holders.add(holder(inbox));
      }
    }
    if (holders.size === 1 && !holders.has(0n)) return undefined;
  }
}

// Adds what `entry` makes; whether the lock was to be had. With `keep` the oldest entries beyond that
// many are dropped, so that the inbox does not grow.
async function append(inbox, how, entry, keep = Infinity) {
  if (!fs.existsSync(inbox)) fs.writeFileSync(inbox, '[]');
  const release = await lock(inbox);
  if (!release) return false;
  try {
    const entries = JSON.parse(fs.readFileSync(inbox, 'utf8'));
    entries.push(entry());
    if (entries.length > keep) entries.splice(0, entries.length - keep);
    replace(inbox, how, JSON.stringify(entries, null, 2));
  } finally {
    await release();
  }
  return true;
}

module.exports = { append, lock, sleep };
