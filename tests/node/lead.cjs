// Plays Claude Code's lead: sends to several members at once, and to each in order.
// usage: node lead.cjs PLAN
// PLAN is a file: {"how": "rename" | "in-place", "burst": COUNT, "pause": MS, "again": BOOLEAN,
//                  "mail": [{"inbox": PATH, "messages": [{"text": …, "summary": …, …}]}]}
// After every `burst` messages to a member there is a pause. Old versions write in place, and give
// their messages no identity. A message that finds its inbox locked for too long is refused; then it
// is sent `again`, as a model would do that is told so, or not.
const fs = require('node:fs');
const { randomUUID } = require('node:crypto');
const { append, sleep } = require('./inbox.cjs');

const { how, burst, pause, again, mail } = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));

const entry = ({ text, summary, ...more }) => ({
  from: 'team-lead',
  text,
  summary,
  timestamp: new Date().toISOString(),
  ...(how === 'rename' && { msgV: 1, msg_id: randomUUID(), type: 'message' }),
  ...more,
  read: false,
});

async function send({ inbox, messages }) {
  let refused = 0;
  for (const [number, message] of messages.entries()) {
    while (!(await append(inbox, how, () => entry(message)))) {
      refused++;
      if (!again) break;
    }
    if (pause && number % burst === burst - 1) await sleep(pause);
  }
  return refused;
}

async function main() {
  const refused = await Promise.all(mail.map(send));
  process.stdout.write(JSON.stringify({ refused: refused.reduce((sum, n) => sum + n, 0) }));
}

main();
