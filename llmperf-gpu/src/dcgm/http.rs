//! One GET, in the oldest HTTP there is: the answer ends with the connection. Bounded in time and size.

use std::{
    io::{self, Read as _, Write as _},
    net::{TcpStream, ToSocketAddrs as _},
    time::{Duration, Instant},
};

use crate::{BackendError, Fault};

/// The longest answer that is read.
const LONGEST: u64 = 16 * 1024 * 1024;

/// The longest that an answer is waited for, whatever was asked for.
const LONGEST_WAIT: Duration = Duration::from_secs(3_600);

/// Where to ask for what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    host: String,
    port: u16,
    path: String,
}

impl Address {
    /// Of `http://host[:port][/path]`; the port is 9400 and the path `/metrics` unless said.
    pub(super) fn parse(url: &str) -> Result<Self, BackendError> {
        let wrong = || {
            BackendError::new(
                Fault::InvalidArgument,
                format!("not an address of the form http://host:port/path: {url}"),
            )
        };
        let rest = url.strip_prefix("http://").ok_or_else(wrong)?;
        let (authority, path) = match rest.find('/') {
            Some(slash) => rest.split_at(slash),
            None => (rest, "/metrics"),
        };
        // The port follows the last colon, unless that lies inside the brackets of an IPv6 address.
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, port.parse().map_err(|_| wrong())?),
            _ => (authority, 9400),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let is_plain = |text: &str| text.chars().all(|letter| letter.is_ascii_graphic());
        if host.is_empty() || !is_plain(host) || !is_plain(path) {
            return Err(wrong());
        }
        Ok(Self { host: host.into(), port, path: path.into() })
    }
}

/// The body of the answer, if that is a success.
pub(super) fn get(address: &Address, limit: Duration) -> Result<String, BackendError> {
    let answer = exchange(address, limit).map_err(|error| {
        let timed_out = matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock);
        let fault = if timed_out { Fault::Timeout } else { Fault::Unreachable };
        BackendError::new(fault, format!("{}:{}: {error}", address.host, address.port))
    })?;
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n").ok_or(BackendError::from(Fault::Malformed))?;
    let status = head.lines().next().and_then(|line| line.split(' ').nth(1)).unwrap_or_default();
    match status {
        "200" => whole(head, body).map(ToOwned::to_owned),
        other => Err(BackendError::new(Fault::Unreachable, format!("answers with status {other:?}"))),
    }
}

/// The lines that arrived whole: half a number is a number too.
fn whole<'a>(head: &str, body: &'a str) -> Result<&'a str, BackendError> {
    let header = |name: &str| {
        let headers = head.lines().filter_map(|line| line.split_once(':'));
        headers.filter(|(key, _)| key.trim().eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).next()
    };
    if header("transfer-encoding").is_some_and(|coding| !coding.eq_ignore_ascii_case("identity")) {
        return Err(BackendError::new(Fault::Malformed, "answers in pieces, which HTTP/1.0 does not know"));
    }
    let length: Option<usize> = header("content-length").and_then(|length| length.parse().ok());
    if length.is_some_and(|length| body.len() < length) {
        return Err(BackendError::new(Fault::Malformed, "the answer was cut short"));
    }
    Ok(body.rfind('\n').and_then(|end| body.get(..=end)).unwrap_or_default())
}

fn exchange(address: &Address, limit: Duration) -> io::Result<Vec<u8>> {
    let until = Instant::now() + limit.min(LONGEST_WAIT);
    let left = || {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::Error::from(io::ErrorKind::TimedOut)) } else { Ok(left) }
    };
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    let mut connection = None;
    for place in (address.host.as_str(), address.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&place, left()?) {
            Ok(connected) => {
                connection = Some(connected);
                break;
            }
            Err(error) => last = error,
        }
    }
    let mut connection = connection.ok_or(last)?;
    connection.set_write_timeout(Some(left()?))?;
    let (host, port, path) = (&address.host, address.port, &address.path);
    write!(
        connection,
        "GET {path} HTTP/1.0\r\nHost: {host}:{port}\r\nAccept: text/plain\r\nConnection: close\r\n\r\n"
    )?;
    let (mut answer, mut part) = (Vec::new(), [0; 16 * 1024]);
    loop {
        // A peer that sends a byte now and then must not hold the sampler up either.
        connection.set_read_timeout(Some(left()?))?;
        match connection.read(&mut part)? {
            0 => return Ok(answer),
            read => answer.extend_from_slice(part.get(..read).unwrap_or_default()),
        }
        if answer.len() as u64 > LONGEST {
            return Err(io::Error::from(io::ErrorKind::FileTooLarge));
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn an_address_is_read_or_refused() {
        let parsed = |url| Address::parse(url).map(|address| (address.host, address.port, address.path)).ok();
        let address = |host: &str, port, path: &str| Some((host.to_owned(), port, path.to_owned()));
        assert_eq!(parsed("http://gpu-host:9400/metrics"), address("gpu-host", 9400, "/metrics"));
        assert_eq!(parsed("http://10.0.0.1"), address("10.0.0.1", 9400, "/metrics"));
        assert_eq!(parsed("http://[::1]:80/a?b"), address("::1", 80, "/a?b"));
        assert_eq!(parsed("http://[::1]"), address("::1", 9400, "/metrics"));
        for wrong in ["https://host", "host:9400", "http://", "http://host:port/", "http://host/a b", "http://a\r\nb/"]
        {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }
}
