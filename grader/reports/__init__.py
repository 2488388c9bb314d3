"""Results for people: terminal, pages, status. A report only shows what a result says; it never decides anything."""
