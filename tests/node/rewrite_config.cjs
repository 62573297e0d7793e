// Plays an old Claude Code: rewrites config.json in place, with no lock, until its input ends.
// Each time it counts one up and changes a member of its own. Between its read and its write it
// takes some milliseconds, in which anybody may write.
// usage: node rewrite_config.cjs CONFIG
const fs = require('node:fs');

const [config] = process.argv.slice(2);
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
let count = 0;
let over = false;

async function rewrite() {
  const team = JSON.parse(fs.readFileSync(config, 'utf8'));
  await sleep(Math.random() * 20);
  count++;
  team.count = count;
  team.members = team.members.filter((member) => member.name !== 'helper');
  if (count % 2) team.members.push({ name: 'helper', backendType: 'in-process', count });
  fs.writeFileSync(config, JSON.stringify(team, null, 2));
}

async function main() {
  while (!over) {
    await rewrite();
    await sleep(10 + Math.random() * 40);
  }
  // The last word is spoken; give the others the time that they ask for.
  process.stdout.write(JSON.stringify({ count }));
}

process.stdin.resume();
process.stdin.on('end', () => (over = true));
main();
