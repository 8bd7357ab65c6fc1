CREATE TABLE IF NOT EXISTS localization (
  tag      TEXT NOT NULL,
  language TEXT NOT NULL,
  content  TEXT NOT NULL,
  PRIMARY KEY (tag, language)
) WITHOUT ROWID;
