//! The documents in one SQLite file: found by words (FTS5, ranked by BM25) and by vector.
//!
//! The search by vector is exact: it compares the question with every document, which is right for some thousands of
//! them and needs no extension, only a function of ours. Millions want an index that is approximate.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::functions::FunctionFlags;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension as _, Params, Row, Statement, params};

use super::corpus::{Document, DocumentId};

type Error = Box<dyn std::error::Error + Send + Sync>;

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS documents
        (id INTEGER PRIMARY KEY, title TEXT NOT NULL, body TEXT NOT NULL, vector BLOB NOT NULL) STRICT;
    CREATE VIRTUAL TABLE IF NOT EXISTS words
        USING fts5(title, body, content = 'documents', content_rowid = 'id', tokenize = 'porter');
    CREATE TRIGGER IF NOT EXISTS documents_added AFTER INSERT ON documents BEGIN
        INSERT INTO words (rowid, title, body) VALUES (new.id, new.title, new.body);
    END;";
const BY_VECTOR: &str = "
    SELECT id, title, body, similarity(vector, ?1) AS score FROM documents ORDER BY score DESC, id LIMIT ?2";
/// `bm25` is negative, and the best is the least. Title and body weigh the same here.
const BY_WORDS: &str = "
    SELECT id, documents.title, documents.body, -bm25(words) AS score FROM words JOIN documents ON id = words.rowid
    WHERE words MATCH ?1 ORDER BY score DESC, id LIMIT ?2";
const BY_ID: &str = "SELECT id, title, body, 1.0 FROM documents WHERE id = ?1";

/// A document that was found, with its score: the greater the better.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Hit {
    pub(crate) document: Document,
    pub(crate) score: f64,
}

/// The knowledge base. A connection serves one statement at a time, so each way to look has its own; clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    vectors: Arc<Mutex<Connection>>,
    words: Arc<Mutex<Connection>>,
    ids: Arc<Mutex<Connection>>,
}

impl Store {
    /// Opens the file, which holds nothing as long as it is new.
    ///
    /// Fails if it cannot be written, or is no database.
    pub(crate) fn open(file: &Path) -> Result<Self, Error> {
        let connect = || connect(file).map(Mutex::new).map(Arc::new);
        let store = Self { vectors: connect()?, words: connect()?, ids: connect()? };
        on(&store.ids, |store| store.execute_batch(TABLES))?;
        Ok(store)
    }

    /// Adds documents, each with its vector. When this returns they can be found, all or none of them.
    pub(crate) fn add(&self, documents: impl IntoIterator<Item = (Document, Vec<f32>)>) -> Result<(), Error> {
        on(&self.ids, |store| {
            let transaction = store.transaction()?;
            let mut insert =
                transaction.prepare("INSERT INTO documents (id, title, body, vector) VALUES (?1, ?2, ?3, ?4)")?;
            for (document, vector) in documents {
                insert.execute(params![document.id, document.title, document.body, bytes(&vector)])?;
            }
            drop(insert);
            transaction.commit()
        })
    }

    /// The documents nearest to a vector.
    pub(crate) async fn by_vector(&self, vector: &[f32], limit: u32) -> Result<Vec<Hit>, Error> {
        let vector = bytes(vector);
        read(&self.vectors, move |store| hits(&mut store.prepare(BY_VECTOR)?, params![vector, limit])).await
    }

    /// The documents that have words of a text, whatever stands in it.
    pub(crate) async fn by_words(&self, text: &str, limit: u32) -> Result<Vec<Hit>, Error> {
        let any = any_word(text);
        if any.is_empty() {
            return Ok(Vec::new());
        }
        read(&self.words, move |store| hits(&mut store.prepare(BY_WORDS)?, params![any, limit])).await
    }

    /// One document.
    pub(crate) async fn by_id(&self, id: DocumentId) -> Result<Option<Hit>, Error> {
        read(&self.ids, move |store| store.prepare(BY_ID)?.query_row([id], hit).optional()).await
    }

    /// How much the database holds, in bytes.
    pub(crate) async fn size(&self) -> Result<u64, Error> {
        let size = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()";
        let size: i64 = read(&self.ids, move |store| store.query_row(size, [], |row| row.get(0))).await?;
        Ok(size.cast_unsigned())
    }
}

/// A connection, with the function that SQLite lacks: functions live in the connection, not in the file.
fn connect(file: &Path) -> rusqlite::Result<Connection> {
    let store = Connection::open(file)?;
    store.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;")?;
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_DIRECTONLY;
    store.create_scalar_function("similarity", 2, flags, |vectors| {
        Ok(match (vectors.get_raw(0), vectors.get_raw(1)) {
            (ValueRef::Blob(one), ValueRef::Blob(other)) => Some(similarity(one, other)),
            _ => None,
        })
    })?;
    Ok(store)
}

/// SQLite blocks, so a thread that may wait asks it. Whoever measures this waits here: no scope goes along.
async fn read<T: Send + 'static>(
    connection: &Arc<Mutex<Connection>>,
    ask: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
) -> Result<T, Error> {
    let connection = Arc::clone(connection);
    tokio::task::spawn_blocking(move || on(&connection, ask)).await?
}

fn on<T>(connection: &Mutex<Connection>, ask: impl FnOnce(&mut Connection) -> rusqlite::Result<T>) -> Result<T, Error> {
    Ok(ask(&mut connection.lock().unwrap_or_else(PoisonError::into_inner))?)
}

fn hits(statement: &mut Statement<'_>, values: impl Params) -> rusqlite::Result<Vec<Hit>> {
    statement.query_map(values, hit)?.collect()
}

fn hit(row: &Row<'_>) -> rusqlite::Result<Hit> {
    Ok(Hit { document: Document { id: row.get(0)?, title: row.get(1)?, body: row.get(2)? }, score: row.get(3)? })
}

/// Each word in quotes, so that nothing a user writes is read as the search's own syntax.
fn any_word(text: &str) -> String {
    let words: Vec<_> = super::words::words(text).map(|word| format!("\"{word}\"")).collect();
    words.join(" OR ")
}

fn bytes(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// As between vectors, of the bytes that they are stored in.
fn similarity(one: &[u8], other: &[u8]) -> f32 {
    let (one, _) = one.as_chunks::<4>();
    let (other, _) = other.as_chunks::<4>();
    one.iter().zip(other).map(|(one, other)| f32::from_le_bytes(*one) * f32::from_le_bytes(*other)).sum()
}
