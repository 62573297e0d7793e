# What `tools/setup --check` installed comes first.
export PATH := env("RINGER_DEV_CACHE", env("XDG_CACHE_HOME", env("HOME") / ".cache") / "ringer-dev") / "tools/bin:" + env("PATH")

# Lists the recipes.
default:
    @just --list

# Everything that CI runs.
check: fmt-check lint docs deny demo bench test

# The tests; installs what they need first.
test:
    tools/test

# The way there and back, with real Claude Code and real agents; part of the tests.
e2e:
    tools/test --test back --test panes --test claude -- --nocapture

# The README's first command.
demo:
    cargo run --quiet --release -- demo

# Benchmarks; each prints its goal and whether it was met.
bench:
    cargo bench --quiet --package ringer --bench files --bench observe --bench delivery

# Feeds the reader of streams with anything for ten minutes; needs cargo-fuzz.
fuzz:
    cd crates/ringer-observe/fuzz && mkdir -p corpus/line && RUSTC_BOOTSTRAP=1 cargo fuzz run line corpus/line seeds -- -dict=line.dict -max_total_time=600

# Formats the code.
fmt:
    cargo fmt --all

fmt-check:
    cargo fmt --all --check

lint:
    cargo clippy --quiet --workspace --all-targets -- --deny warnings

# The documentation, without warnings.
docs:
    RUSTDOCFLAGS="--deny warnings" cargo doc --quiet --workspace --no-deps --document-private-items

# Licences, duplicate and unknown sources of dependencies.
deny:
    cargo deny --log-level error check bans licenses sources

# Known vulnerabilities of dependencies; needs the network for the advisory database.
audit:
    cargo deny check advisories

# Makes the samples of real Claude Code files anew.
samples:
    cargo run --quiet --package ringer-testkit --bin capture -- crates/ringer-teams/tests/samples

# Makes the recordings of real Claude Code streams, transcripts and disks anew.
recordings:
    cargo run --quiet --package ringer-testkit --bin record -- crates/ringer-observe/tests/recordings

# Makes the README's picture anew: real programs in real terminals.
picture:
    cargo build --quiet --package ringer
    cargo run --quiet --package ringer-testkit --bin picture -- docs/picture.svg
