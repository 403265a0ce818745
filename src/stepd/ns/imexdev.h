/* imexdev.h - the device of the step's IMEX channel, for the step's processes alone */
#pragma once

struct step;

/* Cover the folder of the channels with one that has the step's device and no other, in a mount
 * namespace of the step.  Where the job has a namespace, its maker (the extern step) calls this in
 * there, and steps that entered it find the device.  Nothing for a step without a channel.
 * step_fail() reports an error. */
void imexdev_make(struct step *s);
