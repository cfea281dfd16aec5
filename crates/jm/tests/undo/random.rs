//! Random sequences of calls, walked back and forth.

use serde_json::{Value, json};

use crate::world::{Tree, World, command, same, write_file};

const SEQUENCES: u64 = 100;

struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self((seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from((self.0 >> 16) % u64::try_from(end.max(1)).unwrap()).unwrap()
    }

    fn pick<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> Option<&'a T> {
        if all.is_empty() { None } else { Some(all[self.below(all.len())]) }
    }
}

/// The next call, and the reads that must come before it.
fn step(random: &mut Random, tree: &Tree, number: usize) -> Vec<Value> {
    let of = |kind: &str| -> Vec<&str> {
        let paths = tree.iter().filter(|(_, found)| found.0 == kind);
        paths.map(|(path, _)| path.to_str().unwrap()).collect()
    };
    let (files, directories) = (of("file"), of("directory"));
    let parent = random.pick(&directories).map_or(String::new(), |path| format!("{path}/"));
    let new = match random.below(3) {
        0 => format!("n{number}"),
        1 => format!("{parent}n{number}"),
        _ => format!("{parent}d{number}/e/n{number}"),
    };
    let text = format!("{number} {}\n", random.below(1000)).repeat(random.below(3) + 1);
    let directory_mode = ["700", "755", "750"][random.below(3)];
    let mode = ["600", "644", "755", "640", "444", "700"][random.below(6)];
    let file = random.pick(&files);
    let directory = random.pick(&directories);
    let script = match (random.below(16), file, directory) {
        (0 | 1, ..) => return vec![write_file(&new, &text)],
        (2..=4, Some(file), _) => return patch(&[Some(file), random.pick(&files)], &new, number),
        (5, Some(file), _) => format!("printf 'more %s\\n' {number} >> '{file}'"),
        (6, Some(file), _) => format!("rm '{file}'; printf '\\000\\377{number}' > b{number}"),
        (7, Some(file), _) => format!("mv '{file}' 'm{number}'"),
        (8, Some(file), _) => format!("chmod {mode} '{file}'"),
        (9, _, Some(directory)) => format!("rm -r '{directory}'"),
        (10, _, Some(directory)) => format!("mv '{directory}' 'k{number}'"),
        (11, _, Some(directory)) => format!("chmod {directory_mode} '{directory}'"),
        (12, Some(file), _) => format!("rm '{file}'; mkdir '{file}'; echo {number} > '{file}/t'"),
        (13, _, Some(directory)) => format!("rm -r '{directory}'; echo {number} > '{directory}'"),
        (14, Some(file), _) => format!("cp -p '{file}' c{number}; : > '{file}'; exit 3"),
        _ => format!(
            "mkdir -m {directory_mode} x{number}; mkdir x{number}/y; printf '{number}' > \
             x{number}/y/z; chmod {mode} x{number}/y/z"
        ),
    };
    vec![command(&script)]
}

/// Appends to files that there are, and creates one.
fn patch(files: &[Option<&str>], new: &str, number: usize) -> Vec<Value> {
    let mut files: Vec<&str> = files.iter().flatten().copied().collect();
    files.dedup();
    let read = |path: &&str| json!({"name": "read_file", "args": {"path": path}});
    let mut calls: Vec<Value> = files.iter().map(read).collect();
    files.push(new);
    let section = |path: &str| format!("F {path}\nT\npatched {number}\n.\n");
    let sections: String = files.into_iter().map(section).collect();
    let patch = format!("LP1\n{sections}END\n");
    calls.push(json!({"name": "apply_patch", "args": {"patch": patch}}));
    calls
}

/// Makes calls, then walks back and forth through what they left.
fn sequence(seed: u64) -> Result<(), String> {
    let world = World::new();
    let mut random = Random::new(seed);
    world.shell("mkdir -p src/deep; chmod 750 src/deep; echo one > a; echo two > src/b");
    world.shell("echo x > src/deep/run; chmod 755 src/deep/run; mkdir .git; echo g > .git/g");
    let mut trees = vec![world.tree()];
    let mut story = Vec::new();
    let mut exec = world.exec();
    for number in 0..5 + random.below(8) {
        for call in step(&mut random, trees.last().unwrap(), number) {
            let answer = exec.send(&call);
            story.push(format!("  {} -> {}", call["args"], answer["verdict"]));
        }
        let tree = world.tree();
        // A call that changed nothing does not count.
        if trees.last() != Some(&tree) {
            trees.push(tree);
        }
    }
    drop(exec);
    let steps = trees.len() - 1;
    let story = story.join("\n");
    let check = |what: String, left: usize| {
        let is = same(&trees[left], &world.tree());
        is.map_err(|why| format!("seed {seed}, after {what} of {steps} steps:\n{why}\n{story}"))
    };
    let undo = |count: usize| {
        let (code, printed) = world.jm(&["undo", &count.to_string()]);
        check(format!("undo {count} ({code:?})\n{printed}"), steps - count)
    };
    let redo = |count: usize| {
        (1..=count).try_for_each(|done| {
            let (code, printed) = world.jm(&["redo"]);
            check(format!("redo {done} ({code:?})\n{printed}"), steps - count + done)
        })
    };
    let prefix = 1 + random.below(steps.min(4));
    undo(prefix)?;
    redo(prefix)?;
    undo(steps)?;
    if seed.is_multiple_of(8) {
        redo(steps)?;
        undo(steps)?;
    }
    world.holds(&[(".git/g", "g\n")]);
    Ok(())
}

#[test]
fn random_sequences_are_undone_and_redone_byte_for_byte() {
    let only: Option<u64> = std::env::var("JM_SEED").ok().and_then(|seed| seed.parse().ok());
    let seeds: Vec<u64> = only.map_or_else(|| (0..SEQUENCES).collect(), |seed| vec![seed]);
    let run = |part: &[u64]| part.iter().filter_map(|seed| sequence(*seed).err()).collect();
    let failures: Vec<String> = std::thread::scope(|scope| {
        let parts = seeds.chunks(seeds.len().div_ceil(4));
        let workers: Vec<_> = parts.map(|part| scope.spawn(move || run(part))).collect();
        workers.into_iter().flat_map(|worker| -> Vec<_> { worker.join().unwrap() }).collect()
    });
    let first = failures.iter().take(3).cloned().collect::<String>();
    assert!(failures.is_empty(), "{} of {} failed:\n{first}", failures.len(), seeds.len());
}
