//! One program: started, sent all traffic, its logs read.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Result, ensure};
use testkit::{Client, Origin, Program, Request, free_port, until};

use super::fields::{CLIENT_PORT, FORMATS, Format, Ports, codes, steady};
use super::traffic::{CASES, Case, RULES, reply};
use crate::programs::{Service, Side, serves};

/// How long an answer may take; some never come.
const PATIENCE: Duration = Duration::from_secs(5);

/// A part of a line.
#[derive(Debug)]
pub(crate) struct Logged {
    pub(crate) format: &'static str,
    pub(crate) case: &'static str,
    pub(crate) field: &'static str,
    pub(crate) value: String,
}

/// All parts of all lines.
///
/// # Errors
/// When the program doesn't serve.
pub(crate) fn logged(side: Side, binary: &Path) -> Result<Vec<Logged>> {
    let origin = origin();
    let service = Service::default();
    let logs: String = FORMATS.iter().map(log_line).collect();
    let conf = format!("memory_cache_shared off\n{RULES}{}{logs}", codes());
    let mut program = side.builder(binary, &service, &conf).arg("-N").launch();
    let port = program.port();
    ensure!(
        serves(&mut program, &[port]),
        "{side:?} doesn't serve:\n{}",
        program.read("cache.log")
    );
    let mut ports = Ports {
        origin: origin.port(),
        closed: free_port(),
        proxy: port,
        client: 0,
    };
    let mut logged = Vec::new();
    for case in CASES {
        ports.client = ask(&program, case, &ports);
        let number = number(&program, ports.client);
        for format in FORMATS {
            let line = line(&program, format, number);
            logged.extend(parts(case, format, &line, &ports));
        }
    }
    Ok(logged)
}

fn log_line(format: &Format) -> String {
    let name = format.name;
    format!("access_log stdio:{{dir}}/{name}.log logformat={name}\n")
}

fn origin() -> Origin {
    let asked: Mutex<HashMap<String, usize>> = Mutex::default();
    Origin::start(move |request: &Request| {
        let mut asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
        let before = asked.entry(request.target.clone()).or_default();
        *before += 1;
        reply(request, *before)
    })
}

/// Sends a case and waits for the end; the port that it came from.
fn ask(program: &Program, case: &Case, ports: &Ports) -> u16 {
    let mut client = Client::connect(program.addr()).wait(PATIENCE);
    let from = client.local_addr().map_or(0, |addr| addr.port());
    let fill = |text: &str| {
        text.replace("{o}", &format!("127.0.0.1:{}", ports.origin))
            .replace("{closed}", &format!("127.0.0.1:{}", ports.closed))
    };
    client.send(fill(case.sent));
    let method = case.sent.split(' ').next().unwrap_or_default();
    // Some are answered by what is no response, and some not at all.
    drop(client.try_response_to(method));
    if let Some(then) = case.then {
        client.send(fill(then));
        drop(client.try_response_to("GET"));
    }
    from
}

/// The number of the first line of a client's port: some cases have more than one.
fn number(program: &Program, client: u16) -> usize {
    let port = client.to_string();
    until(&format!("a line of port {port}"), || {
        let log = program.read("codes.log");
        log.lines()
            .position(|line| line.split('|').nth(CLIENT_PORT) == Some(&port))
    })
}

/// The line of that number.
fn line(program: &Program, format: &Format, number: usize) -> String {
    let name = format!("{}.log", format.name);
    until(&format!("line {number} of {name}"), || {
        let bytes = std::fs::read(program.dir().join(&name)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        text.split_inclusive('\n')
            .nth(number)
            .filter(|line| line.ends_with('\n'))
            .map(|line| line.trim_end_matches('\n').to_owned())
    })
}

fn parts(case: &Case, format: &Format, line: &str, ports: &Ports) -> Vec<Logged> {
    let mut values = (format.part)(line);
    // Squid adds both heads to built-in formats when any format shows a field.
    let heads = values.get(format.fields.len()..).unwrap_or_default();
    if heads.len() == 2 && heads.iter().all(|part| part.starts_with('[')) {
        values.truncate(format.fields.len());
    }
    let whole = values.len() == format.fields.len();
    let part = |field: &'static str, value: &str| Logged {
        format: format.name,
        case: case.name,
        field,
        value: if whole {
            steady(field, value, ports)
        } else {
            format!("NOT PARTED: {line}")
        },
    };
    let fields = format.fields.iter().enumerate();
    let values = fields.map(|(number, field)| {
        let value = values.get(number).map_or("", String::as_str);
        part(field, value)
    });
    values.collect()
}
