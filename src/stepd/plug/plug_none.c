/* plug_none.c - slurmstepd without plugins of the site: linked statically, it could not load any;
 * see step.h */
#include "stepd/step.h"

int plug_main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return -1;
}
