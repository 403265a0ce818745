"""What the records of records.py have in common."""

from datetime import datetime, timezone


class Record:
    """FIELDS of a subclass: attribute -> field of the library, type of the library."""

    FIELDS = {}

    @classmethod
    def library_names(cls, attributes):
        """The library's names of the attributes, which may be a text with commas; [] = all."""
        if isinstance(attributes, str):
            attributes = attributes.replace(",", " ").split()
        unknown = [name for name in attributes or () if name not in cls.FIELDS]
        if unknown:
            raise ValueError(f"{cls.__name__} has no field named {unknown[0]}")
        return [cls.FIELDS[name][0] for name in attributes or ()]

    @classmethod
    def from_library(cls, found):
        """From the library's JSON object.  Fields of a later library are left out."""
        values = {}
        for attribute, (name, kind) in cls.FIELDS.items():
            if name in found:
                value = found[name]
                values[attribute] = datetime.fromtimestamp(value / 1e6, timezone.utc) if kind == "time" else value
        return cls(**values)

    def __repr__(self):
        """The fields that there are."""
        there = ", ".join(f"{name}={value!r}" for name in self.FIELDS if (value := getattr(self, name)) is not None)
        return f"{type(self).__name__}({there})"
