//! The index with every order of steps that memory allows to two threads, by loom, on eight lines of two slots.
//! `cargo xtask models` runs it.

use std::sync::Arc;

use loom::model::Builder;
use loom::thread;

use super::form::{Form, Shape, Spot};
use super::place::{Place, SizeCode, Uses, Word};
use super::table::Slot;
use super::{Index, Inserted, WAYS};

/// Lines at first; then the ninth and a step's first one.
const LINES: usize = 8;
const LINES_GROWN: usize = 9;
/// How often a thread is interrupted, at most.
const PREEMPTIONS: usize = 4;
/// Steps of all that a model does, at most.
const STEPS_MAX: usize = 20_000;

fn check(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(PREEMPTIONS);
    builder.max_branches = STEPS_MAX;
    builder.check(model);
}

fn place(number: u32) -> Place {
    let size = SizeCode::of_bytes(100);
    Place {
        granule: number,
        size,
    }
}

fn spots(hash: u64) -> [Spot; 2] {
    let form = Form::new(LINES);
    form.spots(form.known(hash), Shape::at(form, 0))
}

/// A hash whose choices are these lines.
fn hash(lines: [usize; 2]) -> u64 {
    let hashes = (1_u64..).map(|seed| seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut fitting = hashes.filter(|hash| spots(*hash).map(|spot| spot.line) == lines);
    fitting.next().unwrap()
}

fn index(lines_max: usize) -> Index {
    Index::new(LINES * WAYS, lines_max * WAYS).unwrap()
}

/// Puts a place where its key has that choice.
fn lay(index: &Index, hash: u64, choice: usize, place: Place) {
    let Spot { line, tag } = spots(hash)[choice];
    let free = (0..WAYS).find(|way| index.word(Slot { line, way: *way }).is_empty());
    let way = free.unwrap();
    index.fill(Slot { line, way }, Word::new(tag, place), Uses::default());
    index.table.len().fetch_add(1, super::Relaxed);
}

/// All that a finder asks for is there, whatever moves.
fn is_there(index: &Index, hash: u64, place: Place) {
    assert!(index.find(hash).contains(&place), "{place:?} is not found");
}

/// By which of its choices a key lies where it does. Finders look at the first one first.
const CHOICES: [usize; 2] = [0, 1];

/// The hash of what lies in the one line, by that choice, and may move to the other.
fn lies([line, other]: [usize; 2], choice: usize) -> u64 {
    hash(match choice {
        0 => [line, other],
        _ => [other, line],
    })
}

/// These lines are full.
fn crowded(full: &[[usize; 2]], choice: usize) -> Index {
    let index = index(LINES);
    for (number, lines) in (0..).zip(full) {
        lay(&index, lies(*lines, choice), choice, place(number));
    }
    index
}

/// Inserts what belongs to lines 0 and 1, which are full, while another thread looks for what lies in `lines`.
fn finds_while_room_is_made(full: &'static [[usize; 2]], lines: [usize; 2]) {
    for choice in CHOICES {
        let at = full.iter().position(|laid| *laid == lines).unwrap();
        let (moves, wanted) = (lies(lines, choice), place(u32::try_from(at).unwrap()));
        check(move || {
            let index = Arc::new(crowded(full, choice));
            let finder = Arc::clone(&index);
            let finder = thread::spawn(move || is_there(&finder, moves, wanted));
            let new = place(100);
            assert_eq!(index.insert(hash([0, 1]), new), Inserted::Added);
            finder.join().unwrap();
            is_there(&index, hash([0, 1]), new);
            is_there(&index, moves, wanted);
            assert_eq!(index.len(), full.len() + 1);
        });
    }
}

/// What lies in line 0 moves to line 2.
const FULL: [[usize; 2]; 4] = [[0, 2], [0, 3], [1, 3], [1, 4]];

#[test]
fn what_makes_room_is_found() {
    finds_while_room_is_made(&FULL, [0, 2]);
}

/// What lies in line 0 can't move before something of line 2 has moved to line 5.
const NESTED: [[usize; 2]; 10] = [
    [0, 2],
    [0, 3],
    [1, 3],
    [1, 4],
    [2, 5],
    [2, 6],
    [3, 6],
    [3, 7],
    [4, 6],
    [4, 7],
];

#[test]
fn what_makes_room_for_what_makes_room_is_found() {
    finds_while_room_is_made(&NESTED, [2, 5]);
    finds_while_room_is_made(&NESTED, [0, 2]);
}

/// The last two buckets of a step move, and with them what lies in the one or the other.
#[test]
fn what_moves_because_the_table_grows_is_found() {
    for line in [0, 1] {
        let moves = hash([line, 3]);
        check(move || {
            let index = Arc::new(index(LINES_GROWN));
            index.table.set_shape(Shape {
                step: 0,
                frontier: 2,
            });
            lay(&index, moves, 0, place(1));
            let finder = Arc::clone(&index);
            let finder = thread::spawn(move || is_there(&finder, moves, place(1)));
            let slots = index.slots();
            index.insert(hash([5, 6]), place(2));
            assert!(index.slots() > slots, "it has grown");
            finder.join().unwrap();
            is_there(&index, moves, place(1));
            is_there(&index, hash([5, 6]), place(2));
            assert_eq!(index.len(), 2);
        });
    }
}

/// A use of what moves may go uncounted.
#[test]
fn uses_are_those_of_their_record() {
    for choice in CHOICES {
        let moves = lies([0, 2], choice);
        check(move || {
            let index = Arc::new(crowded(&FULL, choice));
            let user = Arc::clone(&index);
            let user = thread::spawn(move || {
                user.used(moves, place(0), 64);
                assert!(user.uses(moves, place(0)).is_some());
            });
            index.insert(hash([0, 1]), place(100));
            user.join().unwrap();
            let uses = index.uses(moves, place(0)).unwrap();
            assert!(uses.count() <= 1);
        });
    }
}

#[test]
fn of_old_and_new_one_is_found() {
    check(|| {
        let index = Arc::new(crowded(&[[0, 2]], 0));
        let finder = Arc::clone(&index);
        let finder = thread::spawn(move || {
            let found = finder.find(hash([0, 2]));
            assert!(found.len() == 1 && [place(0), place(7)].contains(&found[0]));
        });
        assert!(index.replace(hash([0, 2]), place(0), place(7)));
        finder.join().unwrap();
        assert_eq!(index.find(hash([0, 2])).as_slice(), [place(7)]);
    });
}

#[test]
fn what_is_removed_while_it_moves_is_gone() {
    for choice in CHOICES {
        let moves = lies([0, 2], choice);
        check(move || {
            let index = Arc::new(crowded(&FULL, choice));
            let remover = Arc::clone(&index);
            let remover = thread::spawn(move || assert!(remover.remove(moves, place(0))));
            index.insert(hash([0, 1]), place(100));
            remover.join().unwrap();
            assert!(index.find(moves).is_empty());
            is_there(&index, hash([0, 1]), place(100));
            assert_eq!(index.len(), 4);
        });
    }
}
