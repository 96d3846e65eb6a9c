//! `objects`, `vm_objects`, `pending_objects`, `openfd_objects`: responses that are stored. Those that are on disk alone
//! are counted and not listed: reading each of them would take as long as the disk is large; `squall store ls` does.

use proxy::flow::{ObjectReport, Objects, objects};
use serde::Serialize;

use super::Report;
use super::share::{left_out, visible};
use crate::Scene;

/// Responses that are listed.
const OBJECTS_MAX: usize = 10_000;

#[derive(Serialize)]
struct Page {
    objects: Vec<Row>,
    objects_left_out: u64,
    on_disk: u64,
}

#[derive(Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the page")]
struct Row {
    key: String,
    url: String,
    status: u16,
    complete: bool,
    on_disk: bool,
    negative: bool,
    must_revalidate: bool,
    part: bool,
    validating: bool,
    users: usize,
    stored_at: Option<i64>,
    last_modified: Option<i64>,
    fresh_until: Option<i64>,
    head_bytes: usize,
    body_bytes: Option<u64>,
    held_bytes: u64,
}

/// `objects`, `vm_objects`
pub(super) fn all(scene: &Scene<'_>) -> Report {
    let rows = rows(scene, Objects::All);
    let page = Page {
        objects_left_out: scene.memory().objects.saturating_sub(rows.len() as u64),
        objects: rows,
        on_disk: scene.volumes().total.objects,
    };
    Report::new(&page, page.text())
}

/// `pending_objects`
pub(super) fn pending(scene: &Scene<'_>) -> Report {
    some(rows(scene, Objects::Arriving))
}

/// `openfd_objects`: a body that stays on disk is read from there as long as it is used.
pub(super) fn open(scene: &Scene<'_>) -> Report {
    some(rows(scene, Objects::OnDisk))
}

/// `client_objects`
pub(super) fn used(scene: &Scene<'_>) -> Report {
    let mut rows = rows(scene, Objects::All);
    rows.retain(|row| row.users > 0);
    some(rows)
}

fn rows(scene: &Scene<'_>, which: Objects) -> Vec<Row> {
    let objects = objects(scene.store(), which, OBJECTS_MAX);
    objects.iter().map(Row::of).collect()
}

fn some(objects: Vec<Row>) -> Report {
    let page = Page {
        objects,
        objects_left_out: 0,
        on_disk: 0,
    };
    Report::new(&page, page.text())
}

impl Page {
    fn text(&self) -> String {
        let mut text = String::new();
        for row in &self.objects {
            row.write(&mut text);
        }
        let more = usize::try_from(self.objects_left_out).unwrap_or(usize::MAX);
        text += &left_out(more, "objects in memory");
        if self.on_disk > 0 {
            text += &format!(
                "({} objects on disk: squall store ls lists them)\n",
                self.on_disk
            );
        }
        text
    }
}

impl Row {
    fn of(object: &ObjectReport) -> Self {
        Self {
            key: format!("{:032X}", u128::from_be_bytes(object.digest)),
            url: visible(&object.key),
            status: object.status,
            complete: object.complete,
            on_disk: object.on_disk,
            negative: object.negative,
            must_revalidate: object.must_revalidate,
            part: object.part,
            validating: object.validating,
            users: object.users,
            stored_at: object.date,
            last_modified: object.last_modified,
            fresh_until: object.fresh_until,
            head_bytes: object.head_bytes,
            body_bytes: object.body_bytes,
            held_bytes: object.held_bytes,
        }
    }

    fn write(&self, text: &mut String) {
        let store = if self.complete {
            "STORE_OK"
        } else {
            "STORE_PENDING"
        };
        let disk = if self.on_disk {
            "SWAPOUT_DONE"
        } else {
            "SWAPOUT_NONE"
        };
        *text += &format!(
            "KEY {}\n\t{store:<13} IN_MEMORY     {disk} PING_NONE   \n",
            self.key
        );
        *text += &format!("\t{}\n", self.flags().join(","));
        let time = |secs: Option<i64>| secs.unwrap_or(-1);
        // When it was last used isn't known.
        *text += &format!(
            "\tLV:{:<9} LU:{:<9} LM:{:<9} EX:{:<9}\n",
            time(self.stored_at),
            -1,
            time(self.last_modified),
            time(self.fresh_until)
        );
        *text += &format!("\t{0} locks, {0} clients, -1 refs\n", self.users);
        *text += "\tSwap Dir -1, File 0XFFFFFFFF\n";
        *text += &format!("\tGET {}\n\tinmem_lo: 0\n", self.url);
        let size = self.body_bytes.map(|body| self.head_bytes as u64 + body);
        *text += &format!("\tinmem_hi: {}\n", size.unwrap_or(self.held_bytes));
        *text += "\tswapout: 0 bytes queued\n";
        if let Some(size) = size.filter(|_| self.complete) {
            *text += &format!("\tobject_sz: {size}\n");
        }
        text.push('\n');
    }

    fn flags(&self) -> Vec<&'static str> {
        let flags = [
            (self.must_revalidate, "REVALIDATE_ALWAYS"),
            (self.part, "PART"),
            (self.validating, "VALIDATING"),
            (true, "DISPATCHED"),
            (self.negative, "NEGCACHED"),
            (true, "VALIDATED"),
        ];
        let set = flags.into_iter().filter(|(is_set, _)| *is_set);
        set.map(|(_, name)| name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_squids() {
        let object = ObjectReport {
            key: b"http://origin.example:39283/ext/a".to_vec(),
            digest: 0x2A62_0463_AAE9_E8E0_183F_E9EA_A2AD_E6A9_u128.to_be_bytes(),
            status: 200,
            head_bytes: 186,
            complete: true,
            on_disk: true,
            users: 0,
            date: Some(1_795_214_282),
            last_modified: Some(1_793_613_600),
            fresh_until: None,
            body_bytes: Some(2000),
            held_bytes: 2300,
            negative: false,
            must_revalidate: false,
            part: false,
            validating: false,
        };
        let page = Page {
            objects: vec![Row::of(&object)],
            objects_left_out: 3,
            on_disk: 9,
        };
        let expected = "KEY 2A620463AAE9E8E0183FE9EAA2ADE6A9
\tSTORE_OK      IN_MEMORY     SWAPOUT_DONE PING_NONE   
\tDISPATCHED,VALIDATED
\tLV:1795214282 LU:-1        LM:1793613600 EX:-1       
\t0 locks, 0 clients, -1 refs
\tSwap Dir -1, File 0XFFFFFFFF
\tGET http://origin.example:39283/ext/a
\tinmem_lo: 0
\tinmem_hi: 2186
\tswapout: 0 bytes queued
\tobject_sz: 2186

(3 more objects in memory are not listed)
(9 objects on disk: squall store ls lists them)
";
        assert_eq!(page.text(), expected);
    }

    #[test]
    fn what_is_stored_cannot_end_its_line() {
        let mut object = Row::of(&ObjectReport {
            key: b"http://a/\r\nKEY".to_vec(),
            digest: [0; 16],
            status: 200,
            head_bytes: 0,
            complete: false,
            on_disk: false,
            users: 1,
            date: None,
            last_modified: None,
            fresh_until: None,
            body_bytes: None,
            held_bytes: 7,
            negative: true,
            must_revalidate: true,
            part: true,
            validating: true,
        });
        object.key.clear();
        let mut text = String::new();
        object.write(&mut text);
        assert!(text.contains("GET http://a/%0D%0AKEY\n"), "{text}");
        assert!(
            text.contains("STORE_PENDING") && text.contains("NEGCACHED"),
            "{text}"
        );
    }
}
