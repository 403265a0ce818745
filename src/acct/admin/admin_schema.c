/* admin_schema.c - tables of the accounting entities and of the log of who changed them; see
 * admin_rows.c */
#include "acct/sql/db.h"

static const char *const steps[] = {
    "CREATE TABLE IF NOT EXISTS entities("
    " kind $INT NOT NULL,"    /* field of AcctChange that puts it */
    " id $KEY NOT NULL,"      /* its number or name */
    " version $INT NOT NULL," /* of its newest change */
    " record $BLOB NOT NULL," /* AcctChange; of a removed one the removal */
    " PRIMARY KEY(kind, id))$TABLE;"
    "CREATE TABLE IF NOT EXISTS txns("
    " id $INT NOT NULL PRIMARY KEY, time_us $INT NOT NULL,"
    " record $BLOB NOT NULL)$TABLE;", /* AcctTxnRecord */
};

const struct acct_schema acct_schema_admin = { "admin", ARRAY_SIZE(steps), steps };
