#!/bin/sh
# Stands for a test suite: one test fails until the ring wraps by its slots.
failed=0
for name in is_empty_at_first keeps_order wraps_around drops_the_oldest; do
    sleep 0.3
    while [ $name = drops_the_oldest ] && [ -e .wait ]; do sleep 0.1; done
    if [ $name = wraps_around ] && ! grep -q '% self.slots.len()' src/ring.rs; then
        echo "test ring::$name ... FAILED"
        failed=1
    else
        echo "test ring::$name ... ok"
    fi
done
exit $failed
