"""A hook of mkdocs.yml: pages link to files outside of docs/, as a git host shows them. The site gets a copy of each
such file, under source/ and as plain text, and links to that. Of a folder: its README.md; without one, no link."""

import os
import re
import shutil

from mkdocs.exceptions import PluginError
from mkdocs.utils import get_relative_url

_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((\.\./[^)\s]+)\)")
_copies = {}  # from a file of the repository to its name in the site


def on_page_markdown(markdown, page, config, **_):
    docs = config["docs_dir"]
    top = os.path.dirname(config["config_file_path"])
    folder = os.path.dirname(os.path.join(docs, page.file.src_path))

    def link(match):
        text, target = match.group(1), match.group(2).split("#")[0]
        path = os.path.normpath(os.path.join(folder, target))
        if path == docs or path.startswith(docs + os.sep):
            return match.group(0)
        if not path.startswith(top + os.sep) or not os.path.exists(path):
            raise PluginError(f"{page.file.src_path}: the link leads nowhere: {target}")
        if os.path.isdir(path):
            path = os.path.join(path, "README.md")
        if not os.path.exists(path):
            return text
        _copies[path] = "source/" + os.path.relpath(path, top) + ".txt"
        return f'<a href="{get_relative_url(_copies[path], page.url)}">{text}</a>'

    return _LINK.sub(link, markdown)


def on_post_build(config, **_):
    for path, name in _copies.items():
        copy = os.path.join(config["site_dir"], name)
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        shutil.copyfile(path, copy)
