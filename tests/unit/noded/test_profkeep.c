/* test_profkeep.c - what slurmd keeps of samples: nothing without its writer, nothing unasked */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "conf_util.h"
#include "noded/steps/profkeep.h"

#define CONF                                                                                       \
    "JobAcctGatherType=jobacct_gather/linux\nAcctGatherProfileType=acct_gather_profile/hdf5"

/* The writer is found beside slurmd, which this is not. */
static void test_no_writer(void **state)
{
    struct noded d = { .spool = (char *)"/nonexistent",
                       .conf = conf_of_two(CONF, "acct_gather.conf", "ProfileHDF5Dir=/p\n", "") };
    struct nstep step = { .step_id = 0 };

    (void)state;
    assert_non_null(d.conf);
    assert_string_equal(conf_gather_hdf5(d.conf), "/p");
    profkeep_configure(&d);
    assert_null(d.profkeep);
    profkeep_step_over(&d, &step);
    assert_false(profkeep_child_exited(&d, 1, 0));
    assert_null(profkeep_close(d.profkeep));
    d.conf = conf_free(d.conf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_writer),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
