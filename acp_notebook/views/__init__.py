"""State to keyed HTML parts, the widget that shows them live, and the static form that a notebook keeps."""
