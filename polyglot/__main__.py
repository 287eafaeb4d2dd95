"""python -m polyglot"""

from polyglot.cli import main

if __name__ == "__main__":
    main()
