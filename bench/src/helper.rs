//! The helper of an external ACL: it takes questions with a channel number, many at a time, and says no to URLs that
//! have `/blocked/` in them.

use std::env;
use std::fs;
use std::io::{self, BufRead, Write};
use std::path::Path;

use anyhow::Result;
use memchr::{memmem, memrchr};

/// What it is called where servers start it: so its time is told from theirs.
pub(crate) const NAME: &str = "squall-helper";

/// Puts it into a server's folder, where one that has given up root's rights can start it.
pub(crate) fn install(dir: &Path) -> Result<()> {
    fs::copy(env::current_exe()?, dir.join(NAME))?;
    Ok(())
}

/// Answers until the server closes our input.
pub(crate) fn run() -> Result<()> {
    let (mut questions, mut out) = (io::stdin().lock(), io::stdout().lock());
    // The beginning of a question that hasn't come whole.
    let mut partial = Vec::new();
    let mut said = Vec::new();
    loop {
        let came = questions.fill_buf()?;
        if came.is_empty() {
            return Ok(());
        }
        let len = came.len();
        let end = memrchr(b'\n', came).map_or(0, |at| at + 1);
        let (whole, rest) = came.split_at(end);
        if !whole.is_empty() {
            partial.extend_from_slice(whole);
            answer(&partial, &mut said);
            partial.clear();
        }
        partial.extend_from_slice(rest);
        questions.consume(len);
        out.write_all(&said)?;
        out.flush()?;
        said.clear();
    }
}

/// Appends an answer for each question.
fn answer(questions: &[u8], out: &mut Vec<u8>) {
    let questions = questions.split(|byte| *byte == b'\n');
    for question in questions.filter(|question| !question.is_empty()) {
        let channel = question.split(|byte| *byte == b' ').next();
        out.extend_from_slice(channel.unwrap_or_default());
        let blocked = memmem::find(question, b"/blocked/").is_some();
        out.extend_from_slice(if blocked { b" ERR\n" } else { b" OK\n" });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_question_is_answered_on_its_channel() {
        let mut out = Vec::new();
        answer(
            b"0 http://a/ GET -\n17 http://a/blocked/1 GET -\n",
            &mut out,
        );
        assert_eq!(out, b"0 OK\n17 ERR\n");
    }
}
