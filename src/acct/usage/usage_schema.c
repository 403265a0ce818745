/* usage_schema.c - tables of what was used and when nodes were away; filled by rollup.c,
 * nodeevents.c and acctresv.c
 *
 * Sums are kept by unit (0 hours, 1 days, 2 months of local time), by start, by who and by TRES.
 * "Who" is a row of usage_keys: account, user, wckey and QOS together, so that one table serves the
 * reports by each of them. */
#include "acct/sql/db.h"

static const char *const steps[] = {
    "CREATE TABLE IF NOT EXISTS usage_tres(id $INT NOT NULL PRIMARY KEY, name $KEY NOT NULL)$TABLE;"
    "REPLACE INTO usage_tres VALUES(1,'cpu'),(2,'mem'),(3,'energy'),(4,'node'),(5,'billing'),"
    "(6,'fs/disk'),(7,'vmem'),(8,'pages');"
    "CREATE TABLE IF NOT EXISTS suspensions(run $INT NOT NULL, start_us $INT NOT NULL, end_us $INT "
    "NOT NULL,"
    " PRIMARY KEY(run, start_us))$TABLE;"
    "CREATE TABLE IF NOT EXISTS nodes("
    " source $INT NOT NULL, node_id $INT NOT NULL, record $BLOB NOT NULL," /* NodeRecord */
    " PRIMARY KEY(source, node_id))$TABLE;"
    "CREATE TABLE IF NOT EXISTS events("
    " source $INT NOT NULL,"
    " node $KEY NOT NULL," /* empty: the cluster's TRES */
    " start_us $INT NOT NULL,"
    " end_us $INT NOT NULL," /* 2^63-1 until it is over */
    " state $INT NOT NULL,"  /* NodeState + 256 * NodeRecord.state_flags */
    " reason $TEXT, uid $INT,"
    " tres $TEXT,"  /* cpu=32,mem=64000M */
    " nodes $TEXT," /* of the cluster */
    " PRIMARY KEY(source, node, start_us))$TABLE;"
    "CREATE TABLE IF NOT EXISTS usage_keys("
    " id $INT NOT NULL PRIMARY KEY,"
    " source $INT NOT NULL,"
    " account $TEXT NOT NULL, uid $INT NOT NULL, user $TEXT NOT NULL,"
    " wckey $TEXT NOT NULL, qos $TEXT NOT NULL, assoc_id $INT NOT NULL)$TABLE;"
    "CREATE TABLE IF NOT EXISTS usage_sums("
    " source $INT NOT NULL, unit $INT NOT NULL, start_s $INT NOT NULL, who $INT NOT NULL,"
    " tres $INT NOT NULL, alloc_s $INT NOT NULL,"
    " PRIMARY KEY(source, unit, start_s, who, tres))$TABLE;"
    "CREATE TABLE IF NOT EXISTS usage_cluster("
    " source $INT NOT NULL, unit $INT NOT NULL, start_s $INT NOT NULL, tres $INT NOT NULL,"
    " total $INT NOT NULL, alloc_s $INT NOT NULL, down_s $INT NOT NULL, pdown_s $INT NOT NULL,"
    " idle_s $INT NOT NULL, plan_s $INT NOT NULL, over_s $INT NOT NULL,"
    " PRIMARY KEY(source, unit, start_s, tres))$TABLE;",

    "CREATE TABLE IF NOT EXISTS reservations("
    " source $INT NOT NULL, resv_id $INT NOT NULL,"
    " start_us $INT NOT NULL," /* of a period */
    " end_us $INT NOT NULL,"
    " state $INT NOT NULL," /* enum resv_state */
    " name $TEXT NOT NULL,"
    " record $BLOB NOT NULL," /* ReservationRecord */
    " PRIMARY KEY(source, resv_id, start_us))$TABLE;"
    "CREATE TABLE IF NOT EXISTS usage_resv(" /* what jobs used of a period, by hours */
    " source $INT NOT NULL, start_s $INT NOT NULL, resv_id $INT NOT NULL, period_us $INT NOT NULL,"
    " tres $INT NOT NULL, alloc_s $INT NOT NULL,"
    " PRIMARY KEY(source, start_s, resv_id, period_us, tres))$TABLE;",

    "CREATE TABLE IF NOT EXISTS blobs("
    " kind $INT NOT NULL,"    /* enum blob_kind */
    " hash $INT NOT NULL,"    /* JobRecord.script_hash, env_hash */
    " used_us $INT NOT NULL," /* submitted last */
    " data $BLOB NOT NULL, PRIMARY KEY(kind, hash))$ROWS;",

    /* The first line makes a step that died in its middle go through again: a server keeps what
     * was done. */
    "CREATE TABLE IF NOT EXISTS blobs(kind $INT, hash $INT, used_us $INT, data $BLOB)$ROWS;"
    "CREATE TABLE IF NOT EXISTS contents("
    " kind $INT NOT NULL,"    /* enum blob_kind */
    " name $KEY NOT NULL,"    /* a digest in hex; of old rows a hash in decimal */
    " used_us $INT NOT NULL," /* submitted last */
    " data $BLOB NOT NULL, PRIMARY KEY(kind, name))$ROWS;"
    "REPLACE INTO contents SELECT kind, hash, used_us, data FROM blobs;"
    "DROP TABLE blobs;",

    "CREATE TABLE IF NOT EXISTS instances("
    " source $INT NOT NULL,"
    " node $KEY NOT NULL,"
    " start_us $INT NOT NULL,"
    " end_us $INT NOT NULL," /* 2^63-1 until it is over */
    " instance_id $TEXT, instance_type $TEXT, extra $TEXT,"
    " PRIMARY KEY(source, node, start_us))$TABLE;",
};

const struct acct_schema acct_schema_usage = { "usage", ARRAY_SIZE(steps), steps };
