/* witnesscmd.h - penstock witness: which of several controllers may lead */
#pragma once

int cmd_witness(int argc, char **argv);
