"""What every room uses and which knows none: settings, words, links, files, HTML, parts, theme."""
