//! Commands that leave the same on a layer that is kept as in a direct run.

/// The tree that every command starts from; its times are long ago.
pub(super) const BASE: &str = "umask 022; mkdir -p src/deep docs empty; echo one > a; echo two > src/b; \
    echo three > src/deep/c; seq 9000 > big; ln -s src/b link; ln -s /nowhere dangling; mkfifo pipe; \
    printf '#!/bin/sh\\necho ran\\n' > run.sh; chmod 755 run.sh; printf 'all: out\\nout: a\\n\\tcp a out\\n' > Makefile; \
    git init -q -b main .; git config user.name n; git config user.email e; git config gc.auto 0; \
    git add a src docs run.sh; git commit -qm first; echo local > ignored.cfg; echo ignored.cfg > .gitignore; \
    find . -depth -exec touch -h -d '2001-02-03 04:05:06.789' {} +";

/// Names, programs that they need, and scripts.
pub(super) const SCRIPTS: &[(&str, &[&str], &str)] = &[
    ("nothing", &[], "true"),
    ("create", &[], "echo new > n; mkdir -p d/e; echo x > d/e/f"),
    ("append", &[], "echo more >> a; echo more >> src/b"),
    ("truncate", &[], ": > big; truncate -s 100 src/deep/c"),
    ("overwrite", &[], "cp big src/b; cat a > src/deep/c"),
    ("edit in place", &["sed"], "sed -i s/three/drei/ src/deep/c"),
    ("edit without a match", &["sed"], "touch -d 2002-02-02 big; sed -n p big"),
    ("delete", &[], "rm src/b; rm -r docs empty"),
    ("delete everything", &[], "rm -rf ./* .[!.]*"),
    ("delete all but git", &[], "rm -rf ./*"),
    ("recreate a directory", &[], "rm -r src; mkdir src; echo new > src/only"),
    ("file becomes directory", &[], "rm big; mkdir big; echo in > big/in"),
    ("directory becomes file", &[], "rm -r src; echo flat > src"),
    ("file becomes link", &[], "rm big; ln -s run.sh big"),
    ("link becomes file", &[], "rm link; echo file > link"),
    ("link changes", &[], "ln -sfn docs link; ln -sf a dangling"),
    ("to and fro", &[], "mv a b; mv b a; rm -r docs; mkdir docs; rmdir docs; mkdir docs"),
    ("modes", &[], "chmod 600 big; chmod 700 src; chmod 555 docs; chmod 1777 empty"),
    (
        "closed directory",
        &[],
        "mkdir shut; echo x > shut/x; chmod 500 shut; mkdir none; chmod 000 none",
    ),
    (
        "closed new directories",
        &[],
        "for m in 000 100 300 400 600; do mkdir -p m$m/e; echo x > m$m/f; echo y > m$m/e/g; chmod $m m$m; done; echo y > other",
    ),
    (
        "closed existing directories",
        &[],
        "echo x > docs/n; chmod 000 docs; echo y >> src/deep/c; rm src/b; chmod 000 src/deep; chmod 311 src; chmod 400 empty",
    ),
    (
        "closed replaced directories",
        &[],
        "rm -r src docs; mkdir -m 311 src; echo x > src/x; mkdir docs; echo y > docs/y; chmod 000 docs",
    ),
    (
        "attributes of closed directories",
        &["setfattr"],
        "setfattr -n user.n -v 1 docs; chmod 555 docs; setfattr -n user.n -v 1 src; chmod 000 src; echo 2 > a",
    ),
    ("unreadable file", &[], "echo x > secret; chmod 000 secret"),
    ("rename a file", &[], "mv src/b src/renamed; mv run.sh docs/"),
    ("rename over a file", &[], "mv a big; echo t > t && mv t src/b"),
    ("move a directory", &[], "mv src lib"),
    (
        "rename a directory by the system call",
        &["python3"],
        "python3 -c 'import os; os.rename(\"src\", \"lib\"); os.rename(\"lib/deep\", \"up\"); os.rename(\"up\", \"docs/down\")'",
    ),
    (
        "rename a directory over an empty one",
        &["python3"],
        "python3 -c 'import os; os.rename(\"src\", \"empty\")'",
    ),
    (
        "rename a directory over a full one",
        &["python3"],
        "mkdir full; echo x > full/x; python3 -c 'import os; os.rename(\"src\", \"full\")' 2>&1 | grep -o 'not empty'",
    ),
    (
        "rename a directory into itself",
        &["python3"],
        "python3 -c 'import os; os.rename(\"src\", \"src/deep/x\")' 2>&1 | grep -o 'Invalid argument'",
    ),
    (
        "rename a directory and what changed in it",
        &["python3"],
        "echo more >> src/b; rm src/deep/c; ln -s ../a src/l; chmod 750 src/deep; python3 -c 'import os; os.rename(\"src\", \"lib\"); os.rename(\"lib\", \"src\"); os.rename(\"src\", \"lib\")'",
    ),
    (
        "rename a directory from another one",
        &["python3"],
        "cd src; python3 -c 'import os; d = os.open(\"..\", os.O_RDONLY); os.rename(\"docs/\", \"papers\", src_dir_fd=d, dst_dir_fd=d); os.rename(\"deep\", os.getcwd() + \"/deeper/\")'",
    ),
    (
        "exchange two directories",
        &["python3"],
        "python3 -c 'import ctypes; r = ctypes.CDLL(None).renameat2; assert r(-100, b\"src\", -100, b\"docs\", 2) == 0; assert r(-100, b\"a\", -100, b\"docs\", 2) == 0'",
    ),
    (
        "rename a directory only where nothing is",
        &["python3"],
        "python3 -c 'import ctypes; r = ctypes.CDLL(None).renameat2; assert r(-100, b\"src\", -100, b\"empty\", 1) == -1; assert r(-100, b\"src\", -100, b\"lib\", 1) == 0'",
    ),
    ("rename a directory in node", &["node"], "node -e 'fs.renameSync(\"src\", \"lib\")'"),
    ("git mv of a directory", &["git"], "git mv src lib; git commit -qm moved; git status --short"),
    ("move a new directory", &[], "mkdir x && echo 1 > x/y && mv x z && mv z docs/"),
    (
        "exchange two files",
        &["python3"],
        "python3 -c 'import ctypes; assert ctypes.CDLL(None).renameat2(-100, b\"a\", -100, b\"big\", 2) == 0'",
    ),
    (
        "a file without a name",
        &["python3"],
        "python3 -c 'import os; f = os.open(\".\", os.O_TMPFILE | os.O_RDWR, 0o644); os.write(f, b\"x\"); os.link(f\"/proc/self/fd/{f}\", \"named\", follow_symlinks=True)'",
    ),
    (
        "memory that is a file",
        &["python3"],
        "python3 -c 'import mmap; f = open(\"big\", \"r+b\"); m = mmap.mmap(f.fileno(), 0); m[10:14] = b\"mmap\"; m.flush()'",
    ),
    (
        "locks",
        &["python3"],
        "python3 -c 'import fcntl; f = open(\"a\", \"a\"); fcntl.flock(f, fcntl.LOCK_EX); f.write(\"locked\")'",
    ),
    (
        "a socket",
        &["python3"],
        "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")'",
    ),
    (
        "attributes",
        &["setfattr"],
        "setfattr -n user.note -v 1 big; setfattr -n user.dir -v 2 docs; setfattr -n user.new -v 3 src/deep",
    ),
    ("new hard links", &[], "ln big big2; ln src/b src/b3; cp -al docs docs2"),
    ("a fifo", &[], "mkfifo another; rm pipe"),
    ("many files", &[], "for i in $(seq 300); do echo $i > m$i; done; rm m2*"),
    (
        "a deep tree",
        &[],
        "p=.; for i in $(seq 60); do p=$p/deeper; done; mkdir -p $p; echo x > $p/x",
    ),
    ("a sparse file", &[], "truncate -s 5M sparse; printf end >> sparse"),
    (
        "odd names",
        &[],
        "printf x > \"$(printf 'new\\nline')\"; printf y > \"$(printf '\\377')\"; touch -- -dash ' space '",
    ),
    ("times", &[], "touch -d '2011-11-11 11:11:11.123' src docs big; touch -h -d 2012-12-12 link"),
    ("a copy with its times", &[], "cp -a src copied; cp -p big kept"),
    ("an archive", &["tar"], "tar cf t.tar src docs && mkdir o && tar xpf t.tar -C o && rm t.tar"),
    (
        "copies by rsync",
        &["rsync"],
        "rsync -aX --delete src/ docs/; rsync -a --inplace big docs/deep/c; rsync -a --remove-source-files docs/b moved; rsync -aH src/ linked",
    ),
    ("a build", &["make"], "make -s; make -s"),
    ("a program of the workspace", &[], "./run.sh > ran; sh run.sh >> ran"),
    (
        "a virtual environment",
        &["python3"],
        "python3 -m venv --without-pip env && rm -r env/bin env/pyvenv.cfg env/lib*/python*/site-packages/__pycache__ 2>/dev/null; :",
    ),
    (
        "a database",
        &["python3"],
        "python3 -c 'import sqlite3; d = sqlite3.connect(\"t.db\"); d.execute(\"create table t (a)\"); [d.execute(\"insert into t values (?)\", (n,)) for n in range(100)]; d.commit()'",
    ),
    ("git status", &["git"], "git status --short"),
    ("git commit", &["git"], "echo more >> a; git add a; git commit -qm second; git log --oneline"),
    ("git mv of files", &["git"], "git mv a renamed; git commit -qm moved"),
    (
        "git branch and merge",
        &["git"],
        "git checkout -qb side; echo s > s; git add s; git commit -qm side; git checkout -q main; echo m > m; git add m; git commit -qm main; git merge -q --no-edit side",
    ),
    (
        "git rebase",
        &["git"],
        "git checkout -qb side; echo s > s; git add s; git commit -qm side; git checkout -q main; echo m > m; git add m; git commit -qm main; git checkout -q side; git rebase -q main",
    ),
    ("git stash", &["git"], "echo dirty >> a; git stash -q; git stash pop -q"),
    (
        "git reset and clean",
        &["git"],
        "echo dirty >> a; echo u > untracked; git reset -q --hard; git clean -qxfd",
    ),
    ("git tag and gc", &["git"], "git tag v1; git gc -q; git fsck --no-progress"),
    (
        "git work tree inside",
        &["git"],
        "git worktree add -q inner -b other && rm -r inner && git worktree prune",
    ),
    (
        "git init elsewhere",
        &["git"],
        "mkdir nested && cd nested && git init -q -b main . && echo x > x && git add x && git commit -qm nested",
    ),
    (
        "a patch",
        &["python3"],
        "printf -- '--- a\\n+++ a\\n@@ -1 +1 @@\\n-one\\n+eins\\n' | git apply --unsafe-paths -p0 -",
    ),
    (
        "bytes in the middle",
        &[],
        "dd if=/dev/zero of=big bs=1 seek=5 count=3 conv=notrunc status=none",
    ),
    (
        "a hole",
        &["python3"],
        "python3 -c 'import ctypes, os; f = os.open(\"big\", os.O_RDWR); assert ctypes.CDLL(None).fallocate(f, 3, ctypes.c_long(0), ctypes.c_long(4096)) == 0'",
    ),
    (
        "written past its end",
        &["python3"],
        "python3 -c 'f = open(\"a\", \"r+\"); f.seek(100000); f.write(\"far\")'",
    ),
    ("ten thousand files", &[], "mkdir t && cd t && seq 10000 | xargs touch"),
    ("a thousand files beside others", &[], "cd src && seq 1000 | xargs touch && rm 9*"),
    ("installed with a mode", &[], "install -d -m 750 opt/bin; install -m 700 run.sh opt/bin/run"),
    ("a link to itself", &[], "ln -s loop loop; ln -s ../w/a around"),
    ("found and deleted", &[], "find src -type f -delete; find . -maxdepth 1 -type l -delete"),
    (
        "a name that comes and goes",
        &[],
        "for i in 1 2 3; do echo $i > n; rm n; done; echo last > n",
    ),
    (
        "directory, file, directory",
        &[],
        "rm -r docs; echo f > docs; rm docs; mkdir docs; echo d > docs/d",
    ),
    ("sticky bits", &[], "mkdir -m 1777 shared; chmod +t src; chmod 1700 docs"),
    (
        "a lock of another kind",
        &["python3"],
        "python3 -c 'import fcntl; f = open(\"src/b\", \"r+\"); fcntl.lockf(f, fcntl.LOCK_EX); f.truncate(0); f.write(\"mine\")'",
    ),
    (
        "a database with a log",
        &["python3"],
        "python3 -c 'import sqlite3; d = sqlite3.connect(\"t.db\"); d.execute(\"pragma journal_mode=wal\"); d.execute(\"create table t (a)\"); d.execute(\"insert into t values (1)\"); d.commit(); d.close()'",
    ),
    (
        "compiled modules",
        &["python3"],
        "echo 'x = 1' > m.py; touch -d 2001-01-01 m.py; python3 -m compileall -q m.py",
    ),
    ("a compiler", &["cc"], "echo 'int main(void) { return 0; }' > m.c; cc -o m m.c && ./m"),
    (
        "npm install offline",
        &["npm"],
        "mkdir dep; echo '{\"name\":\"dep\",\"version\":\"1.0.0\"}' > dep/package.json; echo '{\"name\":\"x\",\"version\":\"1.0.0\",\"dependencies\":{\"dep\":\"file:dep\"}}' > package.json; npm install --offline --no-audit --no-fund --silent",
    ),
    (
        "node_modules removed",
        &["npm"],
        "mkdir dep; echo '{\"name\":\"dep\",\"version\":\"1.0.0\"}' > dep/package.json; echo '{\"name\":\"x\",\"version\":\"1.0.0\",\"dependencies\":{\"dep\":\"file:dep\"}}' > package.json; npm install --offline --no-audit --no-fund --silent; rm -rf node_modules",
    ),
    (
        "git cherry-pick and revert",
        &["git"],
        "git checkout -qb side; echo s > s; git add s; git commit -qm side; git checkout -q main; git cherry-pick side > /dev/null; git revert --no-edit HEAD > /dev/null",
    ),
    (
        "git rm and restore",
        &["git"],
        "git rm -q src/b; git reset -q --hard; rm a; git checkout -q -- a",
    ),
    (
        "git notes and a branch that goes",
        &["git"],
        "git notes add -m note; git branch x; git branch -D x > /dev/null; git repack -adq",
    ),
    ("git configuration", &["git"], "git config alias.x status; git x --short"),
    (
        "a hook",
        &["git"],
        "mkdir -p .git/hooks; printf '#!/bin/sh\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; echo x > .envrc",
    ),
    (
        "git clean of everything",
        &["git"],
        "mkdir build; echo o > build/o; git clean -qxfd; git reset -q --hard",
    ),
];
