/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Insertions into an SQLite database, each its own transaction. */
#include <errno.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#include "workload.h"

static const unsigned insertions[] = { 250, 2500, 2500 };

static void needs(const struct bench *bench, struct bench_needs *needs)
{
	(void)bench;
	needs->each = 4u << 20;
}

static int sql_fail(struct bench_step *step, sqlite3 *db, const char *what)
{
	return fc_step_fail(step, "SQLite: %s: %s", what, sqlite3_errmsg(db));
}

/* SQLite's defaults otherwise: a rollback journal, synchronous FULL. */
static int prepare(struct bench_step *step)
{
	sqlite3 *db = NULL;
	if ((unlink("database") && errno != ENOENT) || (unlink("database-journal") && errno != ENOENT))
		return fc_step_fail_errno(step, "database");
	step->local = NULL;
	if (sqlite3_open("database", &db) != SQLITE_OK ||
	    sqlite3_exec(db, "CREATE TABLE item (number INTEGER, name TEXT, remark TEXT)", NULL, NULL, NULL) !=
		    SQLITE_OK)
		return sql_fail(step, db, "making the database");
	step->local = db;
	return 0;
}

static int insert(struct bench_step *step, sqlite3 *db, sqlite3_stmt *statement, unsigned i)
{
	char name[32];
	sqlite3_snprintf(sizeof(name), name, "item %u", i);
	sqlite3_bind_int(statement, 1, (int)i);
	sqlite3_bind_text(statement, 2, name, -1, SQLITE_TRANSIENT);
	sqlite3_bind_text(statement, 3, "a remark as long as those that people enter in a form", -1, SQLITE_STATIC);
	if (sqlite3_step(statement) != SQLITE_DONE || sqlite3_reset(statement) != SQLITE_OK)
		return sql_fail(step, db, "inserting");
	return 0;
}

static int run(struct bench_step *step)
{
	sqlite3 *db = step->local;
	sqlite3_stmt *statement = NULL;
	unsigned n = insertions[step->bench->options->size];
	int result = 0;
	if (sqlite3_prepare_v2(db, "INSERT INTO item VALUES (?, ?, ?)", -1, &statement, NULL) != SQLITE_OK)
		return sql_fail(step, db, "preparing");
	for (unsigned i = 0; !result && i < n; i++) {
		result = insert(step, db, statement, i);
		fc_step_progress(step, i, n);
	}
	sqlite3_finalize(statement);
	if (sqlite3_close(db) != SQLITE_OK && !result)
		result = sql_fail(step, db, "closing");
	step->shared->sample.operations = n;
	return result;
}

static int ask(sqlite3 *db, const char *question, char *out, size_t room)
{
	sqlite3_stmt *statement = NULL;
	int result = -1;
	if (sqlite3_prepare_v2(db, question, -1, &statement, NULL) == SQLITE_OK &&
	    sqlite3_step(statement) == SQLITE_ROW) {
		sqlite3_snprintf((int)room, out, "%s", (const char *)sqlite3_column_text(statement, 0));
		result = 0;
	}
	sqlite3_finalize(statement);
	return result;
}

static int verify(struct bench_step *step)
{
	sqlite3 *db = NULL;
	char whole[64] = "", sum[64] = "", want[64];
	unsigned n = insertions[step->bench->options->size];
	int result = 0;
	sqlite3_snprintf(sizeof(want), want, "%u/%u", n, n * (n - 1) / 2);
	if (sqlite3_open("database", &db) != SQLITE_OK || ask(db, "PRAGMA integrity_check", whole, sizeof(whole)) ||
	    ask(db, "SELECT count(*) || '/' || sum(number) FROM item", sum, sizeof(sum)))
		result = sql_fail(step, db, "reading it back");
	else if (strcmp(whole, "ok") || strcmp(sum, want))
		result = fc_step_fail(step, "wrong data: the database holds %s (count/sum), not %s; integrity: %s", sum,
				      want, whole);
	sqlite3_close(db);
	return result;
}

static const struct bench_row rows[] = {
	{ .name = "insert",
	  .title = "a transaction an insertion",
	  .kind = ROW_TIME,
	  .published = { 1.45, 1.8, "dm-crypt" } },
};

static const struct bench_part parts[] = {
	{ .flags = PART_WRITES, .prepare = prepare, .run = run, .verify = verify, .row = rows, .rows = 1 },
};

const struct bench_workload fc_workload_sqlite = {
	.name = "sqlite",
	.title = "SQLite",
	.does = "2,500 insertions (250 with --quick), each a transaction of its own, in SQLite's default journal mode",
	.from = "the dm-crypt test on an Eee PC: a 45 % drop, ×1.45 to ×1.8 as one reads it",
	.needs = needs,
	.part = parts,
	.parts = 1,
};
