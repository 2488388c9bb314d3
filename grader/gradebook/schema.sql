CREATE TABLE courses (id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, name TEXT NOT NULL);
CREATE TABLE submissions (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, digest TEXT NOT NULL, first_seen TEXT NOT NULL, UNIQUE (name, digest)
);
CREATE TABLE works (digest TEXT PRIMARY KEY, files BLOB NOT NULL, notes TEXT NOT NULL);
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, started TEXT NOT NULL, finished TEXT NOT NULL DEFAULT '',
    course INTEGER NOT NULL REFERENCES courses, seed INTEGER NOT NULL, selection TEXT NOT NULL, versions TEXT NOT NULL,
    expected INTEGER NOT NULL, process INTEGER NOT NULL, host TEXT NOT NULL, trial INTEGER NOT NULL,
    late TEXT NOT NULL, exercises TEXT NOT NULL, resubmissions TEXT NOT NULL, assignment TEXT NOT NULL,
    found TEXT NOT NULL
);
CREATE TABLE arrivals (
    run INTEGER NOT NULL REFERENCES runs, submission INTEGER NOT NULL REFERENCES submissions, arrival TEXT NOT NULL,
    PRIMARY KEY (run, submission)
);
CREATE TABLE results (
    id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs, submission INTEGER NOT NULL REFERENCES submissions,
    graded TEXT NOT NULL, seconds REAL NOT NULL, score REAL NOT NULL, max REAL NOT NULL, final INTEGER NOT NULL,
    result TEXT NOT NULL, UNIQUE (run, submission)
);
CREATE INDEX results_of_submission ON results (submission);
CREATE TABLE reused (
    run INTEGER NOT NULL REFERENCES runs, result INTEGER NOT NULL REFERENCES results, PRIMARY KEY (run, result)
);
CREATE TABLE kept (name TEXT PRIMARY KEY, value NOT NULL);
INSERT INTO kept VALUES ('backup', 0);
CREATE TABLE class_lists (
    course TEXT NOT NULL, assignment TEXT NOT NULL, students TEXT NOT NULL, PRIMARY KEY (course, assignment)
);
CREATE TABLE given (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, course TEXT NOT NULL, person TEXT NOT NULL, student TEXT NOT NULL,
    digest TEXT NOT NULL, file TEXT NOT NULL, work TEXT NOT NULL, record TEXT NOT NULL, assignment TEXT NOT NULL
);
CREATE INDEX given_to_student ON given (student);
CREATE INDEX given_to_person ON given (person);
