/* test_scontrol_resv.c - scontrol create, update, delete and show reservation */
#include "scontrol_util.h"
#include "wire/errors.h"

#define ANSWERED(json) PEER_ANSWER(&ctld, OP_RESV_UPDATE, resv_reply, (json))
#define ASKED(has) EXPECT_REQUEST(OP_RESV_UPDATE, resv_request, (has))

static void test_create(void **state)
{
    (void)state;
    ANSWERED("{'name':'r1'}");
    expect_run(scontrol_create_resv,
               "reservation=r1 starttime=now duration=60 users=alice nodes=node1",
               "Reservation created: r1\n", "", 0);
    ASKED("'create':true");
    ANSWERED("{'name':'alice_1'}");
    expect_run(scontrol_create_resv, "res starttime=now duration=60 users=alice nodes=node1",
               "Reservation created: alice_1\n", "", 0);
    ASKED("!'name'");
}

/* As recorded. */
static void test_incomplete(void **state)
{
    (void)state;
    expect_run(scontrol_create_resv, "reservation starttime=now duration=10 nodecnt=1", "",
               "scontrol: error: Either Users/Groups, AllowedPartitions, QOS and/or Accounts must "
               "be specified.  No reservation created.\n",
               1);
    expect_run(scontrol_create_resv, "reservation duration=10 users=alice nodecnt=1", "",
               "scontrol: error: A start time must be given.  No reservation created.\n", 1);
    expect_run(scontrol_create_resv, "reservation starttime=now users=alice nodecnt=1", "",
               "scontrol: error: An end time or duration must be given.  No reservation created.\n",
               1);
    run_command(scontrol_create_resv, "reservation starttime=someday users=alice nodecnt=1");
    assert_int_equal(strncmp(said.err, "Invalid time specification (pos=", 32), 0);
    assert_int_equal(scontrol.status, 1);
    assert_true(peer_is_quiet(&ctld));
}

static void test_refused(void **state)
{
    static const char line[] = "reservation starttime=now duration=10 users=alice";
    char more[128];

    (void)state;
    peer_refuse(&ctld, OP_RESV_UPDATE, ESLURM_NODES_BUSY, NULL);
    (void)snprintf(more, sizeof(more), "%s nodecnt=99", line);
    expect_run(scontrol_create_resv, more,
               "Note, unless nodes are directly requested a reservation must exist in a single "
               "partition.\nIf no partition is requested the default partition is assumed.\n",
               "Error creating the reservation: Requested nodes are busy\n", 1);
    peer_refuse(&ctld, OP_RESV_UPDATE, ESLURM_NODES_BUSY, NULL);
    (void)snprintf(more, sizeof(more), "%s nodes=n1", line);
    expect_run(scontrol_create_resv, more, "",
               "Error creating the reservation: Requested nodes are busy\n", 1);
    /* what the controller says of its own has a line */
    peer_refuse(&ctld, OP_RESV_UPDATE, ESLURM_INVALID_NODE_NAME, "node9 is not there");
    expect_run(scontrol_create_resv, more, "",
               "scontrol: error: node9 is not there\n"
               "Error creating the reservation: Invalid node name specified\n",
               1);
}

static void test_update(void **state)
{
    (void)state;
    ANSWERED("{}");
    expect_run(scontrol_update_resv, "reservationname=r1 duration=30", "Reservation updated.\n", "",
               0);
    ASKED("'name':'r1'");
    peer_refuse(&ctld, OP_RESV_UPDATE, ESLURM_RESERVATION_INVALID, NULL);
    expect_run(scontrol_update_resv, "reservationname=nosuch duration=1", "",
               "slurm_update error: Requested reservation is invalid\n", 1);
    run_command(scontrol_update_resv, "reservationname=r1 bogus=1");
    assert_non_null(strstr(said.err, "  No reservation update.\n"));
    assert_int_equal(scontrol.status, 1);
}

static void delete_named(struct scontrol *s, int argc, char **argv)
{
    scontrol_delete_resv(s, argc, argv, strchr(argv[0], '=') + 1);
}

static void test_delete(void **state)
{
    (void)state;
    ANSWERED("{}");
    expect_run(delete_named, "reservationname=r1", "", "", 0);
    ASKED("'remove':true");
    peer_refuse(&ctld, OP_RESV_UPDATE, ESLURM_RESERVATION_INVALID, NULL);
    expect_run(delete_named, "reservationname=r1", "",
               "delete_reservation reservationname=r1: Requested reservation is invalid\n", 1);
}

static void show_all(struct scontrol *s, int argc, char **argv)
{
    scontrol_show_resvs(s, argc ? argv[0] : NULL);
}

#define SET "{'now_us':1000000,'items':[{'name':'a'},{'name':'b'}]}"
#define RESVS(json) PEER_ANSWER(&ctld, OP_QUERY_RESVS, resv_set, (json))

static void test_show(void **state)
{
    (void)state;
    RESVS(SET);
    run_command(show_all, "");
    assert_non_null(strstr(said.out, "ReservationName=a "));
    assert_non_null(strstr(said.out, "ReservationName=b "));
    RESVS(SET);
    run_command(show_all, "B"); /* whatever letters */
    assert_int_equal(strncmp(said.out, "ReservationName=b ", 18), 0);
    assert_null(strstr(said.out, "ReservationName=a"));
    RESVS(SET);
    expect_run(show_all, "c", "Reservation c not found\n", "", 1);
    RESVS("{}");
    expect_run(show_all, "", "No reservations in the system\n", "", 0);
    peer_refuse(&ctld, OP_QUERY_RESVS, ESLURM_ACCESS_DENIED, NULL);
    expect_run(show_all, "", "", "slurm_load_reservations error: Access/permission denied\n", 1);
    scontrol.json.wanted = true;
    RESVS(SET);
    run_command(show_all, "b");
    assert_int_equal(said.out[0], '{');
    assert_non_null(strstr(said.out, "\"name\": \"b\""));
    assert_null(strstr(said.out, "\"name\": \"a\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCONTROL_TEST(test_create), SCONTROL_TEST(test_incomplete), SCONTROL_TEST(test_refused),
        SCONTROL_TEST(test_update), SCONTROL_TEST(test_delete),     SCONTROL_TEST(test_show),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
