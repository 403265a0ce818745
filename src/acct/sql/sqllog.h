/* sqllog.h - the statements that DebugFlags of slurmdbd.conf asks for
 *
 * A subject of base/logflags.h that begins with DB_ names a kind of records, and stands for the
 * tables that hold them.  Users, accounts and QOS share a table, so their subjects mean the same.
 * Any thread. */
#pragma once

/* To the log, with the word of the first subject that is on and means it; else nowhere. */
void sqllog_statement(const char *text);
