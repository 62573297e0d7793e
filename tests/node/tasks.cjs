// Plays Claude Code's tools for tasks, at random until its input ends: each file is changed under
// proper-lockfile's lock and rewritten in place. Then it says what it did.
// usage: node tasks.cjs DIRECTORY TAG FIRST
// Counts in `metadata[TAG]`. Makes tasks wait for ones with a lower number, from FIRST on, so that
// these never wait for each other in a circle: Claude Code itself would not care.
const fs = require('node:fs');
const path = require('node:path');
const { lock, sleep } = require('./inbox.cjs');

const [dir, tag, first] = process.argv.slice(2);
// What else is in a task, Claude Code drops.
const known = [
  'id',
  'subject',
  'description',
  'activeForm',
  'owner',
  'status',
  'blocks',
  'blockedBy',
  'metadata',
];
const done = { tag, failed: 0, updates: {}, subjects: {}, links: [], created: [], longest: 0 };

const at = (id) => path.join(dir, `${id}.json`);
const below = (end) => Math.floor(Math.random() * end);
const pick = (list) => list[below(list.length)];

// A busy program takes its time between a look and what it writes, and nobody may come between.
const think = () => sleep(below(10));

function ids() {
  const numbers = fs.readdirSync(dir).map((name) => /^([0-9]+)\.json$/.exec(name));
  return numbers.filter(Boolean).map((found) => Number(found[1]));
}

// Does something under a file's lock; whether that was to be had.
async function locked(file, work) {
  const started = Date.now();
  const release = await lock(file);
  if (!release) {
    done.failed++;
    return false;
  }
  try {
    await work();
  } finally {
    await release();
  }
  done.longest = Math.max(done.longest, Date.now() - started);
  return true;
}

const write = (id, task) => fs.promises.writeFile(at(id), JSON.stringify(task, null, 2));

function update(id, change) {
  return locked(at(id), async () => {
    const found = JSON.parse(await fs.promises.readFile(at(id), 'utf8'));
    const task = {};
    for (const key of known) if (found[key] !== undefined) task[key] = found[key];
    change(task);
    await think();
    await write(id, task);
  });
}

async function count(id) {
  const more = (task) => {
    task.metadata = { ...task.metadata, [tag]: (task.metadata?.[tag] ?? 0) + 1 };
  };
  if (await update(id, more)) done.updates[id] = (done.updates[id] ?? 0) + 1;
}

async function rename(id, number) {
  const subject = `${tag} called it ${number}`;
  if (await update(id, (task) => (task.subject = subject))) done.subjects[id] = subject;
}

const add = (list, id) => (list.includes(id) ? list : [...list, id]);

async function link(one, other) {
  if (one === other) return;
  const [blocker, blocked] = one < other ? [one, other] : [other, one];
  const first = await update(blocker, (task) => (task.blocks = add(task.blocks, `${blocked}`)));
  const second = await update(blocked, (task) => (task.blockedBy = add(task.blockedBy, `${blocker}`)));
  if (first && second) done.links.push([`${blocked}`, `${blocker}`]);
}

async function create(number) {
  const file = path.join(dir, '.lock');
  await fs.promises.writeFile(file, '', { flag: 'a' });
  await locked(file, async () => {
    const id = Math.max(...ids()) + 1;
    await think();
    const subject = `${tag} made it ${number}`;
    const task = { id: `${id}`, subject, description: '', status: 'pending', blocks: [], blockedBy: [] };
    await write(id, task);
    done.created.push(`${id}`);
  });
}

async function main() {
  let over = false;
  process.stdin.resume().on('end', () => (over = true));
  for (let number = 0; !over; number++) {
    const all = ids();
    const linked = all.filter((id) => id >= Number(first));
    const what = below(60);
    if (what === 0) await link(pick(linked), pick(linked));
    else if (what === 1) await create(number);
    else if (what < 12) await rename(pick(all), number);
    else await count(pick(all));
    await sleep(below(10));
  }
  process.stdout.write(JSON.stringify(done));
}

main();
