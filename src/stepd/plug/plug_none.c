/* plug_none.c - slurmstepd without plugins of the site: linked statically, it could not load any;
 * see step.h */
#include "stepd/step.h"

int plug_main(int argc, char **argv, const struct plug_ops **ret_ops)
{
    (void)argc;
    (void)argv;
    *ret_ops = NULL;
    return -1;
}
