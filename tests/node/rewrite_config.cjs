// Plays an old Claude Code: rewrites config.json in place, with no lock, until its input ends.
// Each time it counts one up and changes a member of its own.
// usage: node rewrite_config.cjs CONFIG
const fs = require('node:fs');

const [config] = process.argv.slice(2);
let count = 0;

function rewrite() {
  const text = fs.readFileSync(config, 'utf8');
  const team = JSON.parse(text);
  count++;
  team.count = count;
  team.members = team.members.filter((member) => member.name !== 'helper');
  if (count % 2) team.members.push({ name: 'helper', backendType: 'in-process', count });
  fs.writeFileSync(config, JSON.stringify(team, null, 2));
}

function again() {
  rewrite();
  timer = setTimeout(again, 5 + Math.random() * 20);
}

let timer = setTimeout(again, 0);
process.stdin.resume();
process.stdin.on('end', () => {
  clearTimeout(timer);
  process.stdout.write(JSON.stringify({ count }));
});
