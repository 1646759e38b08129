"""Made by tools/regenerate_parser.py from grammar/ESL.g4; do not edit."""
