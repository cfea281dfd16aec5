;;; journeyman-diff.el --- Two texts as a unified diff  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT OR Apache-2.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: tools

;;; Commentary:

;; The program sends each hunk as the text before and after.  Here they become lines with -, + and space,
;; which `diff-mode' shows, and can apply and jump from.

;;; Code:

(require 'cl-lib)

(defconst journeyman-diff--most-cells 250000
  "Texts with more pairs of lines are shown as completely replaced.")

(defun journeyman-diff--lines (text)
  "The lines of TEXT with their ends."
  (let ((from 0) lines)
    (while (string-match "\n" text from)
      (push (substring text from (match-end 0)) lines)
      (setq from (match-end 0)))
    (when (< from (length text)) (push (substring text from) lines))
    (nreverse lines)))

(defun journeyman-diff--middle (old new)
  "Edits that make the list NEW of OLD, as (MARK . LINE), by longest common part."
  (let* ((a (vconcat old)) (b (vconcat new)) (n (length a)) (m (length b)))
    (if (> (* n m) journeyman-diff--most-cells)
        (append (mapcar (lambda (line) (cons ?- line)) old) (mapcar (lambda (line) (cons ?+ line)) new))
      (let ((common (make-vector (* (1+ n) (1+ m)) 0)) (i 0) (j 0) edits)
        (cl-flet ((at (i j) (+ (* i (1+ m)) j)))
          (cl-loop for i from (1- n) downto 0 do
                   (cl-loop for j from (1- m) downto 0 do
                            (aset common (at i j)
                                  (if (equal (aref a i) (aref b j))
                                      (1+ (aref common (at (1+ i) (1+ j))))
                                    (max (aref common (at (1+ i) j)) (aref common (at i (1+ j))))))))
          (while (or (< i n) (< j m))
            (cond ((and (< i n) (< j m) (equal (aref a i) (aref b j)))
                   (push (cons ?\s (aref a i)) edits)
                   (cl-incf i) (cl-incf j))
                  ((and (< i n) (or (= j m) (>= (aref common (at (1+ i) j)) (aref common (at i (1+ j))))))
                   (push (cons ?- (aref a i)) edits)
                   (cl-incf i))
                  (t (push (cons ?+ (aref b j)) edits)
                     (cl-incf j)))))
        (nreverse edits)))))

(defun journeyman-diff--edits (old new)
  "Edits that make the list of lines NEW of OLD, as (MARK . LINE)."
  (let (before after)
    (while (and old new (equal (car old) (car new)))
      (push (cons ?\s (pop old)) before)
      (pop new))
    (let ((old-end (reverse old)) (new-end (reverse new)))
      (while (and old-end new-end (equal (car old-end) (car new-end)))
        (push (cons ?\s (pop old-end)) after)
        (pop new-end))
      (append (nreverse before)
              (journeyman-diff--middle (nreverse old-end) (nreverse new-end))
              after))))

(defun journeyman-diff-hunk (old new line)
  "The hunk that makes the text NEW, from LINE on, of OLD."
  (let ((edits (journeyman-diff--edits (journeyman-diff--lines old) (journeyman-diff--lines new))))
    (cl-flet ((count (marks) (cl-count-if (lambda (edit) (memq (car edit) marks)) edits))
              (range (count) (format "%d,%d" (if (zerop count) (max 0 (1- line)) line) count)))
      (concat (format "@@ -%s +%s @@\n" (range (count '(?\s ?-))) (range (count '(?\s ?+))))
              (mapconcat (lambda (edit)
                           (concat (string (car edit)) (cdr edit)
                                   (unless (string-suffix-p "\n" (cdr edit))
                                     "\n\\ No newline at end of file\n")))
                         edits "")))))

(defun journeyman-diff-text (hunks root)
  "HUNKS, each (PATH OLD NEW LINE), as a unified diff.
OLD is nil for a new file.  Paths below ROOT are shown relative to it."
  (let (last)
    (mapconcat
     (pcase-lambda (`(,path ,old ,new ,line))
       (let* ((name (if (string-prefix-p root path) (substring path (length root)) path))
              (head (if (equal path last) ""
                      (format "--- %s\n+++ b/%s\n" (if old (concat "a/" name) "/dev/null") name))))
         (setq last path)
         (concat head (journeyman-diff-hunk (or old "") new (or line 1)))))
     hunks "")))

(provide 'journeyman-diff)
;;; journeyman-diff.el ends here
