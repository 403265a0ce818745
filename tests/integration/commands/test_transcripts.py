"""The recorded answers of squeue, sinfo, scontrol, sacct and others, asked again of a cluster like the recorded one.

Adding a transcript: put NAME.txt into tests/golden/transcripts (its format: transcripts.py), nothing else.  By hand:
    PENSTOCK_BUILD=build python3 -m pytest tests/integration/commands/test_transcripts.py -k NAME"""

import difflib

import pytest

import transcripts

NAMES = sorted(path.stem for path in transcripts.FOLDER.glob("*.txt"))


@pytest.mark.parametrize("name", NAMES)
def test_transcript(name, folder):
    more, entries = transcripts.load(name)
    assert entries
    folder.chmod(0o755)
    c = transcripts.Demo(folder, more)
    failed = []
    try:
        c.start()
        for entry in entries:
            transcripts.prepare(c, entry)
            found = transcripts.compare(c, entry)
            if found:
                diff = difflib.unified_diff(found[0].split("\n"), found[1].split("\n"), "recorded", "ours", "", "", 1, "")
                failed.append(f"{name}.txt:{entry}\n" + "\n".join(diff))
    finally:
        problems = c.stop()
    assert not failed, f"{len(failed)} of {len(entries)} commands answer differently\n" + "\n\n".join(failed)
    assert not problems, problems
