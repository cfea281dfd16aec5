//! A ring of a fixed size.

struct Ring<T> {
    slots: Vec<Option<T>>,
    head: usize,
    capacity: usize,
}

impl<T> Ring<T> {
    fn push(&mut self, value: T) {
        self.slots[self.head] = Some(value);
        self.head = (self.head + 1) % self.capacity;
    }
}
