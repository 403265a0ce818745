/* scontrol_reboot.h - scontrol reboot and cancel_reboot: each takes the words after its keyword */
#pragma once

#include "cli/scontrol/scontrol.h"

void scontrol_reboot(struct scontrol *s, int argc, char **argv);
void scontrol_cancel_reboot(struct scontrol *s, int argc, char **argv);
